"""The wordings that tell a question's answer dimension, target type, keywords and place: patterns, and no code.

Rows are tried in order and the first that matches wins.
"""

from __future__ import annotations

import re

from engrain.runtime.schema import MemoryType


def _any_case(*parts: str) -> re.Pattern[str]:
    """One pattern from the pieces of its text."""
    return re.compile("".join(parts), re.IGNORECASE)


_UNITS = "(?:seconds|minutes|hours|days|weeks|months|years)"
_OPENING = r"^(?:\W*(?:and|so|hey|hi|ok|well|please|remind me|tell me|do u know|(?:can|could|do) you \w+(?: me)?)\W+)*"

ANSWERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "time",
        _any_case(
            _OPENING + r"(?:since when|when|how (?:long|old|often|soon|recently))\b",
            "|" + _OPENING + r"(?:(?:on|in|by|at|until|from) )?(?:what|which) ",
            r"(?:time|date|day|week|month|year|season|hour|weekday)s?\b(?! (?:trip|job|plan|bag|pass|care|off))",
            rf"|\bhow many {_UNITS}\b.{{0,60}}\b(?:passed?|between|elapsed?|ago|separat\w+|before|after|since|until|",
            r"apart|earlier|later|(?:did|does|will) it take|it (?:took|take))\b",
            r"|\bwhat (?:is|was|are|were|'s) the (?:\w+ )?(?:date|time|day|year|month|duration|deadline)\b",
            r"|\bwhat(?:'s| is| was) (?:my|his|her|our|their|\w+'s) (?:date of birth|birthday|age)\b",
            r"|\bwhat (?:was|is) the last time\b",
        ),
    ),
    (
        "location",
        _any_case(
            r"\bwhere\b(?!as)|\bcountries\b|\b(?:what|which) (?:\w+ )?",
            r"(?:place|city|town|country|village|state|region|island|street|address|venue|continent|neighbou?rhood|",
            r"airport|station|park|beach|museum|district)s?\b",
            r"|\bwhat (?:is|was|'s|are|were) (?:the|my|our|his|her|their|\w+'s) (?:\w+ )?",
            r"(?:location|venue|address|hometown|birthplace|whereabouts|destination)\b",
        ),
    ),
    (
        "purpose",
        _any_case(
            r"^what\b[^?]*\bfor\W*$|^what\b[^?]*\bfor (?:in|at|when)\b",
            r"|\b(?:purpose|goal|aim|intention|point)\b(?! (?:guard|score))",
            r"|\b(?:hop(?:e|ed|es|ing)|want(?:ed|s)?|try(?:ing)?|tried|aim(?:ed|ing)?|plan(?:ned|ning)?|meant?) to ",
            r"(?:achieve|accomplish|gain|reach|get out of)\b",
            r"|\bwhat for\b|\bwith what (?:aim|goal|intention)\b",
        ),
    ),
    (
        "reason",
        _any_case(
            r"\b(?:why|how come|because of what)\b",
            r"|\bwhat (?:made|led|caused|motivated|prompted|drove|inspired|persuaded|convinced|triggered)\b",
            r"|\b(?:cause|reason|motive|motivation|explanation|grounds)\b",
        ),
    ),
)
"""Which field of a record answers. `countries` are places that were visited more often than counted."""

OPEN_QUESTION = _any_case(
    r"\b(?:what|which|who|whom|whose|whos|whats|how)\b",
    r"|^(?:list|name|tell me|remind me|describe|summari[sz]e)\b",
)
EITHER_OR = _any_case(
    r"\b(?:would|did|do|does|is|was|are|were|should|will|has|have)\b[^?]*\bor\b(?! not\b)",
)

TYPES: tuple[tuple[MemoryType, re.Pattern[str]], ...] = (
    (
        MemoryType.PROFILE,
        _any_case(
            r"\b(?:lik(?:e[sd]?|ing)|lov(?:e|es|ed)|prefer\w*|favou?rite|hat(?:e|es|ed)|dislik\w+|enjoy\w*|",
            r"hobb(?:y|ies)|interests?|usual(?:ly)?|typically|normally|tend(?:s|ed)? to|routine|habits?|personality|",
            r"opinion|believe[sd]?|think (?:of|about)|attitude|rather|values?|allerg\w+|",
            r"can(?:not|'t| not| i not) stand|fond|afraid|scared|fear\w*|passion\w*|taste|",
            r"kind of (?:person|music|food)|traits?|always|never|every (?:day|week|\w+day)|how often|feel about|",
            r"good at)\b|\bwhat (?:time|day(?: of the week)?) do (?:I|we|you)\b",
        ),
    ),
    (
        MemoryType.EPISODIC,
        _any_case(
            r"\b(?:did|went|happened|visited|bought|attended|met|ate|saw|travell?ed|won|lost|gave|took|made|caused?|",
            r"led|argument|accident|wedding|trip|held|passed between|spent|broke|",
            r"hav(?:e|ing) (?:I|we) \w+(?:ed|en|nt|t)|last time|first time|exhibition|test|exam|appointment|meeting|",
            r"interview|concert|festival|ceremony|party|vacation|holiday)\b",
        ),
    ),
    (
        MemoryType.FACT,
        _any_case(
            r"\b(?:is|are|am|'s|whos|whats|do|does|has|have|own(?:s|ed)?|live[sd]?|work(?:s|ed)?|called|named)\b",
        ),
    ),
    (MemoryType.EPISODIC, _any_case(r"\b(?:was|were)\b")),
)
"""What kind of record answers (DimMem section 3.1)."""

FIRST_PERSON: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bI(?:'m| am)\b"), "the user is"),
    (re.compile(r"\bI(?:'ve| have)\b"), "the user has"),
    (_any_case(r"\bam I\b"), "is the user"),
    (re.compile(r"\bI(?:'d|'ll)?\b"), "the user"),
    (_any_case(r"\b(?:my|mine)\b"), "the user's"),
    (_any_case(r"\b(?:me|myself)\b"), "the user"),
)

_COUNTS_AND_FORMS = "many much long often old kind type sort name number total different first"
_ACTS_OF_ASKING = "did do does tell remind know remember use used"
_TIME_WORDS = (
    "ever no longer currently previously since before after ago last past week weeks month months year years day days "
    "yesterday today tonight morning time times date"
)
_EMPTY_NOUNS = "thing things people person you your anything something everything way"
_EMPTY_VERBS = "happen happened happening come came go went going"
NOT_KEYWORDS = frozenset(
    " ".join((_COUNTS_AND_FORMS, _ACTS_OF_ASKING, _TIME_WORDS, _EMPTY_NOUNS, _EMPTY_VERBS)).split()
)
"""Words that say how a question is put, beside the stop words of the index."""

PLACE_LEAD = (
    r"(?:in|at|near|around|outside|inside|throughout|across|through|visit(?:ed|ing)?|leave|left|reach(?:ed)?|"
    r"explored?|(?:travel|trips?|flights?|drive|drove|fly|flew|go|went|gone|going|been|move|moved|moving|return|"
    r"returned|came|come|back|relocated?|way|train|bus|ferry|travell?ed)\b(?: back)? (?:to|from)|"
    r"(?:streets|suburbs|outskirts|centre|center|coast|north|south|east|west) of)"
)
_NAME = r"[A-Z\u00c0-\u00de][\w'.-]*"
CAPITALISED_PLACE = re.compile(
    rf"\b{PLACE_LEAD} (?:the )?({_NAME}(?: (?:(?:de|la|le|del|of|the|and|upon|on) )?{_NAME})*)"
)
LOWER_PLACE = _any_case(rf"\b(?:{PLACE_LEAD}|to|from) (?:the )?(\w+(?: \w+)?(?: \w+)?)")
NO_PLACE = re.compile(
    r"^(?:January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|"
    r"Wednesday|Thursday|Friday|Saturday|Sunday|Christmas|Easter|Halloween|New Year|Thanksgiving|Spring|Summer|Autumn|"
    r"Winter|I\b|English|French|German|Spanish|Italian|Japanese|Chinese)"
)
"""Capitalised names after a preposition of place that are none."""
