"""The words that the rules know, as data. All of a general English kind: no list of names, brands or topics."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as one string."""
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    """`base: form form; base: form` to a table from form to base."""
    table: dict[str, str] = {}
    for entry in text.split(";"):
        base, _, forms = entry.partition(":")
        table.update({form: base.strip() for form in forms.split()})
    return table


SIGNS = {"$": "dollar", "€": "euro", "£": "pound", "%": "percent"}
WEEKDAYS = words("monday tuesday wednesday thursday friday saturday sunday")
CONTRACTIONS = words("don't doesn't didn't isn't aren't wasn't weren't won't can't cannot hasn't haven't wouldn't")
NOT_NAMES = words("user i i'm i've i'd i'll")

FUNCTION_WORDS = words(
    "a an the this that these those such user i me my mine myself we us our you your he him his she her it its they "
    "them their theirs themself themselv who whom whose which what where when am is are was were be been being do doe "
    "did have has had having will would shall should can could let about as at by for from in into of off on onto out "
    "over than through to toward toward up upon via with and but or nor if becaus so then while though although also "
    "just real realli veri too much mani some ani all both each few more most other own same again here there "
    "still yes like well actual honest current late recent final alreadi now anymor longer ever never no not "
    "say mention tell state report note rememb kind sort bit lot s t d ll ve re m one"
)
"""Normalised forms that carry no content of their own. Polarity and time are read from the text, not from these."""

BASE_FORMS = _pairs(
    "buy: bought buys buying; see: saw seen sees seeing; meet: met meets meeting meetings; run: ran runs running; "
    "break: broke broken breaks breaking; go: went gone goes going; spend: spent spends spending; "
    "pay: paid pays paying; write: wrote written writes writing; sell: sold sells selling; "
    "leave: left leaves leaving; take: took taken takes taking; give: gave given gives giving; get: got gotten gets "
    "getting; tell: told tells telling; say: said says saying; make: made makes making; find: found finds finding; "
    "think: thought thinks thinking; know: knew known knows; begin: began begun begins; drive: drove driven drives "
    "driving; fly: flew flown flies flying; eat: ate eaten eats eating; drink: drank drunk drinks drinking; "
    "sleep: slept sleeps sleeping; swim: swam swum swims swimming; come: came comes coming; win: won wins winning; "
    "lose: lost loses losing; keep: kept keeps keeping; hold: held holds holding; build: built builds building; "
    "choose: chose chosen chooses choosing; teach: taught teaches teaching; send: sent sends sending; "
    "grow: grew grown grows growing; steal: stole stolen steals stealing; wear: wore worn wears wearing; "
    "speak: spoke spoken speaks speaking speaker speakers; sing: sang sung sings singing; bring: brought brings bringing; "
    "day: daily days; week: weekly weeks; month: monthly months; year: yearly years annual annually; "
    "fluent: fluently; child: children kids kid; grandchild: grandchildren grandkid grandkids; person: people; "
    "burn: burnt burned burns burning; learn: learnt; lend: lent lends lending; borrow: borrows; feel: felt; fall: fell fallen falls "
    "falling; hurt: hurts; lie: lay lain; ride: rode ridden rides riding; rise: rose risen; sit: sat sits sitting; "
    "stand: stood; spill: spilt spilled spills; shut: shuts; throw: threw thrown throws throwing; bite: bit bitten bites; "
    "catch: caught catches; draw: drew drawn draws; forget: forgot forgotten; become: became becomes becoming; "
    "hide: hid hidden; lead: led leads; mean: meant; read: reads reading; shake: shook; shoot: shot; tear: tore torn; "
    "understand: understood; wake: woke woken wakes waking; freeze: froze frozen; bake: baking bakes baked; "
    "end: ended ends ending; tooth: teeth; foot: feet; knife: knives; half: halves; "
    "licence: license; programme: program; tyre: tire; grey: gray; metre: meter; litre: liter; theatre: theater; "
    "wife: wives; favourite: favorite favourites favorites; colour: color; "
    "dollar: dollars usd bucks; euro: euros eur; pound: pounds gbp"
)

GENERIC_NOUNS = words(
    "music song sound tune artist band singer film movi cinema director actor actress book novel author writer write "
    "read stori work style perform food drink cuisin dish recip genr topic type place destin travel trip region "
    "thing stuff item task list to-do todo tracker calendar reminder personal profession work schedul note team time "
    "project plan subscript membership appoint event idea activ field section detail inform document point taste era "
    "timelin deadlin price cost sum vibe decad prefer favourit interest watch listen visit play use tast goal target budget today week due doc film info"
)
"""Normalised nouns that say what kind of thing is meant; they may be missing on one side."""

FRAME_WORDS = words(
    "list item task to-do todo add includ put need want plan remind reminder mark ask updat chang set note make do get "
    "have user tracker calendar key pleas help like speak think know feel go try start use keep track current goal "
    "today tomorrow yesterday tonight week day weekend morning afternoon evening soon later next last late time also "
    "guess realli honest sure good great nice thank okay yes funni interest absolut definit pretti quit special "
    "point decis agenda object deliver stakehold attende recipi action field section main propos new watchlist "
    "includ follow import must should hope take has check forget schedul wishlist contain compris instead"
)
"""Normalised words that introduce a statement and are no statement themselves: what is left of a record once its
content is struck."""

CORRECTION_WORDS = words("correct typo misread mistak mistaken wrong mean meant mix sorri error actual take make get")
"""Normalised words that announce a correction, and verbs that say nothing beside one."""

PEOPLE = words(
    "sister brother mother father mum mom dad parent wife husband partner girlfriend boyfriend fianc son daughter "
    "child twin cousin uncl aunt nephew niec grandmoth grandfath grandma grandpa friend colleagu cowork boss manag "
    "flatmat roommat housemat neighbour neighbor landlord teacher doctor trainer coach tutor dog cat famili babi stepfath stepmoth stepson stepdaught sibl godson goddaught godmoth godfath granddaught grandson grandchild widow nanni landladi pupil "
    "girl boy team-mat teammat assistant mentor client student employe"
)

HEDGE = re.compile(
    r"\b(?:might|(?-i:may)|could|would(?! now rather| now sooner| rather| sooner| like to| prefer)|wish(?:es|ed)?(?! ?-?list)|hop(?:es|ed|ing)|if|"
    r"whether|unless|perhaps|maybe|probably|thinking (?:of|about)|thinks? (?:of|about)|considering|considers?|"
    r"wonder(?:s|ed|ing)?|ask(?:s|ed) (?:if|whether|what|when|who|how|about)|should|dream(?:s|ed|ing)? of|"
    r"offer(?:s|ed)?|suggest(?:s|ed)? that|imagin(?:e|es|ed)|almost|nearly|supposed(?:ly)?|pretend(?:s|ed)?|"
    r"(?:would|'d) love|tempted|toying)\b",
    re.IGNORECASE,
)
"""Not stated as true: possible, wished, asked, conditional, someone's idea."""
OWN_REQUEST = re.compile(
    r"\b(?:would like|'d like|want(?:s|ed)?|could you|can you|should be|if you could)\b[^.!?]{0,20}?"
    r"\b(?:to |please )?(?:remove|delete|update|change|revert|drop|cancel|take|revise|switch|move|raise|increase|lower|reduce|bump|extend|shorten|postpone|reschedule|set|adjust)\b",
    re.IGNORECASE,
)
"""The user's own wish about a list or setting of theirs is the change itself."""
FUTURE = re.compile(
    r"\b(?:plan(?:s|ned|ning)? (?:to|on)|going to|gonna|intend(?:s|ed)? to|about to|want(?:s|ed)? to|will|'ll)\b",
    re.IGNORECASE,
)
CONTAINERS = re.compile(
    r"\b(?:story|novel|article|lyrics?|poem|script|fiction|dream(?:t|ed)?|game|movie|film|mail|e-?mail|message|"
    r"letter|text|prompt|document|joke)\b[^.]{0,40}?\b(?:says?|said|saying|which|where|that|reads?|tells?)\b"
    r"|\bpasted\b|\bcop(?:y|ied)\b[^.]{0,20}\btext\b|^\s*system\s*:|\{\s*\"|"
    r"\b(?:memor(?:y|ies)|records?|notes?|entr(?:y|ies)|facts?)\b[^.]{0,60}?"
    r"\b(?:delete[ds]?|superseded|outdated|duplicates?|drop(?:ped)?|ignore[ds]?|obsolete|forget|forgotten)\b|"
    r"\b(?:ignore|forget|delete|disregard|drop)\b[^.]{0,40}\b(?:memor(?:y|ies)|instructions?|previous|records)\b",
    re.IGNORECASE,
)
"""Words of someone or something else, and words about the memory itself: never evidence of a change (injection)."""
RECURRING = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|always|usually|standing|regular(?:ly)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days|"
    r"on weekdays|on weekends|twice a|once a|(?:per|a) (?:day|week|month|year))\b",
    re.IGNORECASE,
)
ONE_OFF = re.compile(
    r"\b(?:today|yesterday|tonight|this (?:morning|evening|afternoon|time|once|week|weekend|(?:mon|tues|wednes|thurs|"
    r"fri|satur|sun)day)(?:'s)?|last (?:night|week|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|for once|once|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day(?!s)|just this)\b",
    re.IGNORECASE,
)
SECOND = re.compile(r"\b(?:also|too|as well|another|second|additional(?:ly)?|on top of|sometimes|in addition)\b", re.I)
PAST_HABIT = re.compile(r"\bused to\b|\bformerly\b|\bpreviously\b|\bin the past\b|\bbefore \d{4}\b", re.I)

OBLIGATION = re.compile(
    r"\b(?:need(?:s|ed)? to|ha(?:s|ve|d) to|must|should|want(?:s|ed)? to|plan(?:s|ned|ning)? (?:to|on|out)?|going to|"
    r"gonna|will|'ll|to-?do|task|tasks|remind(?:ed|er)?|don'?t forget|not forget|still (?:needs?|has)|"
    r"ought to|supposed to|would like to|'d like to|hop(?:es|ing) to|intend(?:s|ing)? to|looking to|about to|"
    r"on (?:my|the|their) list|add(?:ed|ing)?|schedul(?:e|ed|ing)|not finished|in the middle of|is reading|"
    r"is (?:watching|writing)|has not|hasn't|gotta|got to|remember to|make sure|thinking (?:of|about)|goal|aims?|"
    r"(?:it'?s|is) time to|due|deadline|meant to|trying to|have some|ha(?:s|ve) (?:a|an|some) (?:\w+ ){1,3}(?-i:to (?!the |a |an |my |[A-Z])[a-z]+))\b",
    re.IGNORECASE,
)
EVENTIVE = re.compile(
    r"\b(?:bought|spent|paid|walked|ran|met|visited|saw|watched|attended|ordered|went|drove|flew|had|drank|ate|slept|"
    r"scored|donated|refuelled|played|took|got|cost|received|sent|called|did|made|won|lost)\b",
    re.IGNORECASE,
)
