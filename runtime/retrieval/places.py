"""Names of places that a question may limit itself to, for wordings that no capital letter marks ("in leeds").

Countries, a few regions, and cities that people travel to; a capitalised name after a preposition of place needs no
entry here.
"""

from __future__ import annotations

_COUNTRIES = """
afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bahrain, bangladesh, belarus,
belgium, belize, bolivia, bosnia, botswana, brazil, britain, bulgaria, cambodia, cameroon, canada, chile, china,
colombia, costa rica, croatia, cuba, cyprus, czech republic, czechia, denmark, dominican republic, ecuador, egypt,
england, estonia, ethiopia, fiji, finland, france, georgia, germany, ghana, greece, guatemala, haiti, honduras, hungary,
iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan, kenya, korea, kosovo,
kuwait, laos, latvia, lebanon, libya, lithuania, luxembourg, madagascar, malawi, malaysia, maldives, malta, mauritius,
mexico, moldova, monaco, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands, new zealand,
nicaragua, nigeria, north korea, north macedonia, northern ireland, norway, oman, pakistan, palestine, panama, paraguay,
peru, philippines, poland, portugal, puerto rico, qatar, romania, russia, rwanda, saudi arabia, scotland, senegal,
serbia, singapore, slovakia, slovenia, somalia, south africa, south korea, spain, sri lanka, sudan, sweden, switzerland,
syria, taiwan, tanzania, thailand, the gambia, tibet, tunisia, turkey, uganda, uk, ukraine, united arab emirates,
united kingdom, united states, uruguay, usa, uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe
"""
_REGIONS = """
africa, alaska, alps, andalusia, antarctica, arizona, asia, bali, bavaria, brittany, california, caribbean, catalonia,
colorado, cornwall, corsica, crete, europe, florida, hawaii, himalayas, lapland, michigan, montana, nevada, new jersey,
new mexico, north america, oregon, patagonia, provence, quebec, sardinia, scandinavia, sicily, south america, texas,
tuscany, utah, yorkshire
"""
_CITIES = """
amsterdam, athens, atlanta, auckland, austin, bangkok, barcelona, beijing, belfast, berlin, birmingham, bologna, boston,
bristol, brussels, bucharest, budapest, buenos aires, cairo, cambridge, cape town, cardiff, chicago, cologne,
copenhagen, cork, dallas, delhi, denver, detroit, dubai, dublin, edinburgh, florence, frankfurt, geneva, glasgow,
hamburg, hanoi, helsinki, hong kong, houston, istanbul, jakarta, jerusalem, krakow, kuala lumpur, kyoto, las vegas,
leeds, lima, lisbon, liverpool, london, los angeles, lyon, madrid, manchester, manila, marrakech, marseille, melbourne,
mexico city, miami, milan, montreal, moscow, mumbai, munich, nairobi, naples, new orleans, new york, new york city,
nyc, osaka, oslo, ottawa, oxford, paris, philadelphia, phoenix, porto, portland, prague, reykjavik, rio de janeiro,
rome, rotterdam, san diego, san francisco, santiago, seattle, seoul, seville, shanghai, sheffield, sofia, stockholm,
sydney, taipei, tallinn, tel aviv, tokyo, toronto, turin, valencia, vancouver, venice, verona, vienna, vilnius, warsaw,
washington, york, zagreb, zurich
"""
KNOWN_PLACES = frozenset(name.strip() for name in ",".join((_COUNTRIES, _REGIONS, _CITIES)).split(","))
