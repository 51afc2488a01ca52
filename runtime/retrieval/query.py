"""A question in the schema of the records, by rules (DimMem section 3.3 leaves this to a model; see `model_query`).

The rules read wordings only. Where they are unsure they leave a field empty: an empty field activates nothing.
"""

from __future__ import annotations

import re
from datetime import datetime

from engrain.runtime.retrieval.cues import needs_assistant, wants_history
from engrain.runtime.retrieval.places import KNOWN_PLACES
from engrain.runtime.retrieval.question_times import time_constraints
from engrain.runtime.retrieval.stopwords import STOP_WORDS
from engrain.runtime.schema import MemoryType, ParsedQuery

_FIRST_PERSON = (
    (re.compile(r"\bI(?:'m| am)\b"), "the user is"),
    (re.compile(r"\bI(?:'ve| have)\b"), "the user has"),
    (re.compile(r"\b(?:am I)\b", re.IGNORECASE), "is the user"),
    (re.compile(r"\bI(?:'d|'ll)?\b"), "the user"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\b(?:mine)\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\b(?:me|myself)\b", re.IGNORECASE), "the user"),
)
_UNITS = r"(?:seconds|minutes|hours|days|weeks|months|years)"
_ANSWERS = (
    (
        "time",
        re.compile(
            rf"""^(?:\W*(?:and|so|hey|hi|ok|well|please|remind\ me|tell\ me|(?:can|could|do)\ you\ \w+(?:\ me)?|do\ u\ know)\W+)*
                 (?:since\ when|when|how\ (?:long|old|often|soon|recently)|
                    (?:(?:on|in|by|at|until|from)\ )?(?:what|which)\ (?:time|date|day|week|month|year|season|hour|weekday)s?\b
                    (?!\ (?:trip|job|plan|bag|pass|care|off)))
               | \bhow\ many\ {_UNITS}\b.{{0,60}}\b(?:passed?|between|elapsed?|ago|separat\w+|before|after|since|until|apart|earlier|
                    later|(?:did|does|will)\ it\ take|it\ (?:took|take))\b
               | \bwhat\ (?:is|was|are|were|'s)\ the\ (?:\w+\ )?(?:date|time|day|year|month|duration|deadline)\b
               | \bwhat(?:'s|\ is|\ was)\ (?:my|his|her|our|their|\w+'s)\ (?:date\ of\ birth|birthday|age)\b
               | \bwhat\ (?:was|is)\ the\ last\ time\b""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
    (
        "location",
        re.compile(
            r"""\bwhere\b(?!as) | \b(?:what|which)\ (?:\w+\ )?(?:place|city|town|country|village|state|region|island|street|address|
                 venue|continent|neighbou?rhood|airport|station|park|beach|museum|district)s?\b | \bcountries\b
               | \bwhat\ (?:is|was|'s|are|were)\ (?:the|my|our|his|her|their|\w+'s)\ (?:\w+\ )?
                 (?:location|venue|address|hometown|birthplace|whereabouts|destination)\b""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
    (
        "purpose",
        re.compile(
            r"""^what\b.*\bfor\W*$ | ^what\b.*\bfor\ (?:in|at|when)\b | \b(?:purpose|goal|aim|intention|point)\b(?!\ (?:guard|score))
               | \b(?:hop(?:e|ed|es|ing)|want(?:ed|s)?|try(?:ing)?|tried|aim(?:ed|ing)?|plan(?:ned|ning)?|mean(?:t)?)\ to\ 
                 (?:achieve|accomplish|gain|reach|get\ out\ of)\b | \bwhat\ for\b | \bwith\ what\ (?:aim|goal|intention)\b""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
    (
        "reason",
        re.compile(
            r"""\b(?:why|how\ come|what\ (?:made|led|caused|motivated|prompted|drove|inspired|persuaded|convinced|triggered)|
                 (?:cause|reason|motive|motivation|explanation|grounds)\b(?!ing)|because\ of\ what|what\ .*\bbecause\ of)""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
)
_OPEN_QUESTION = re.compile(
    r"\b(?:what|which|who|whom|whose|whos|whats|how)\b|^(?:list|name|tell me|remind me|describe|summari[sz]e)\b",
    re.IGNORECASE,
)
_EITHER_OR = re.compile(
    r"\b(?:would|did|do|does|is|was|are|were|should|will|has|have)\b.*\bor\b(?! not\b)", re.IGNORECASE
)
_TYPES: tuple[tuple[MemoryType, re.Pattern[str]], ...] = (
    (
        MemoryType.PROFILE,
        re.compile(
            r"""\b(?:lik(?:e[sd]?|ing)\b(?<!looks\ like)|lov(?:e|es|ed)|prefer\w*|favou?rite|hat(?:e|es|ed)|dislik\w+|enjoy\w*|
                 hobb(?:y|ies)|interests?|usual(?:ly)?|typically|normally|tend(?:s|ed)?\ to|routine|habits?|personality|opinion|
                 believe[sd]?|think\ (?:of|about)|attitude|rather|values?|allerg\w+|can(?:not|'t|\ not|\ i\ not)\ stand|fond|
                 afraid|scared|fear\w*|passion\w*|taste|kind\ of\ (?:person|music|food)|traits?|always|never|every\ (?:day|week|\w+day)|
                 how\ often|feel\ about|good\ at)\b
               | \bwhat\ (?:time|day(?:\ of\ the\ week)?)\ do\ (?:I|we|you)\b""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
    (
        MemoryType.EPISODIC,
        re.compile(
            r"""\b(?:did|went|happened|was\ I\ late|visited|bought|attended|met|ate|saw|travel(?:l)?ed|won|lost|gave|took|made|
                 caused?|led|argument|accident|wedding|trip|held|passed\ between|spent|broke|hav(?:e|ing)\ (?:I|we)\ \w+(?:ed|en|nt|t)\b|
                 last\ time|first\ time|exhibition|test|exam|appointment|meeting|interview|concert|festival|ceremony|party|
                 vacation|holiday)\b""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
    (
        MemoryType.FACT,
        re.compile(
            r"""\b(?:is|are|am|'s|whos|whats|do|does|has|have|own(?:s|ed)?|live[sd]?|work(?:s|ed)?|called|named)\b""",
            re.IGNORECASE | re.VERBOSE,
        ),
    ),
    (MemoryType.EPISODIC, re.compile(r"\b(?:was|were)\b", re.IGNORECASE)),
)
_NOT_KEYWORDS = frozenset(
    [
        "many",
        "much",
        "long",
        "often",
        "old",
        "kind",
        "type",
        "sort",
        "name",
        "no",
        "longer",
        "number",
        "total",
        "different",
        "did",
        "do",
        "does",
        "tell",
        "remind",
        "know",
        "remember",
        "use",
        "used",
        "ever",
        "currently",
        "previously",
        "since",
        "before",
        "after",
        "ago",
        "last",
        "past",
        "week",
        "weeks",
        "month",
        "months",
        "year",
        "years",
        "day",
        "days",
        "yesterday",
        "today",
        "tonight",
        "morning",
        "first",
        "time",
        "times",
        "date",
        "happen",
        "happened",
        "happening",
        "come",
        "came",
        "go",
        "went",
        "going",
        "way",
        "thing",
        "things",
        "people",
        "person",
        "you",
        "your",
        "anything",
        "something",
        "everything",
    ]
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_PLACE_LEAD = (
    r"(?:in|at|near|around|outside|inside|throughout|across|through|visit(?:ed|ing)?|leave|left|reach(?:ed)?|explor(?:e|ed)|"
    r"(?:mov|travel|trip|trips|flight|flights|drive|drove|fly|flew|go|went|gone|going|been|move|moved|moving|return|returned|"
    r"came|come|back|relocate|relocated|way|train|bus|ferry|travelled|traveled)\b(?:\ back)?\ (?:to|from)|"
    r"(?:streets|suburbs|outskirts|centre|center|coast|north|south|east|west)\ of)"
)
_NAME = r"[A-Z\u00c0-\u00de][\w'\u2019.-]*"
_CAPITALISED = re.compile(
    rf"\b{_PLACE_LEAD}\ (?:the\ )?({_NAME}(?:\ (?:(?:de|la|le|del|of|the|and|upon|on)\ )?{_NAME})*)".replace("\\ ", " ")
)
_LOWER = re.compile(rf"\b(?:{_PLACE_LEAD}|to|from) (?:the )?(\w+(?: \w+)?(?: \w+)?)".replace("\\ ", " "), re.IGNORECASE)
_NO_PLACE = re.compile(
    r"^(?:January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|"
    r"Thursday|Friday|Saturday|Sunday|Christmas|Easter|Halloween|New Year|Thanksgiving|Spring|Summer|Autumn|Winter|I\b|"
    r"English|French|German|Spanish|Italian|Japanese|Chinese)"
)


def parse_question(question: str, asked_at: datetime) -> ParsedQuery:
    """The question by rules, its relative times resolved against `asked_at`, which must be aware."""
    text = " ".join(question.replace("\u2019", "'").split())
    return ParsedQuery(
        anchor=query_anchor(text),
        target_types=_target_types(text),
        keywords=_keywords(text),
        time_constraints=time_constraints(text, asked_at),
        location=_location(text),
        answer_dimension=_answer_dimension(text),
        needs_assistant_context=needs_assistant(text),
        wants_history=wants_history(text),
    )


def query_anchor(text: str) -> str:
    """The question with its first person as "the user", as DimMem's records speak of them."""
    for pattern, said in _FIRST_PERSON:
        text = pattern.sub(said, text)
    return text


def _answer_dimension(text: str) -> str:
    for name, pattern in _ANSWERS:
        if pattern.search(text):
            return name
    return "content" if _OPEN_QUESTION.search(text) or _EITHER_OR.search(text) else ""


def _target_types(text: str) -> tuple[MemoryType, ...]:
    return next(((kind,) for kind, pattern in _TYPES if pattern.search(text)), ())


def _keywords(text: str) -> tuple[str, ...]:
    """Runs of content words, as short phrases; the words of a long run stay together."""
    phrases: list[list[str]] = [[]]
    end = 0
    for match in _WORD.finditer(text):
        word = match.group().lower().removesuffix("'s")
        if text[end : match.start()].strip(" "):
            phrases.append([])
        if word in STOP_WORDS or word in _NOT_KEYWORDS or "'" in word:
            phrases.append([])
        elif not word.isdigit():
            phrases[-1].append(word)
        end = match.end()
    return tuple(dict.fromkeys(" ".join(phrase) for phrase in phrases if phrase))


def _location(text: str) -> str:
    for match in _CAPITALISED.finditer(text):
        if not _NO_PLACE.match(match[1]):
            return match[1].removesuffix("'s").rstrip(".,")
    for match in _LOWER.finditer(text.lower()):
        words = match[1].split()
        for count in range(len(words), 0, -1):
            if (name := " ".join(words[:count])) in KNOWN_PLACES:
                place = text.lower().find(name, match.start())
                return text[place : place + len(name)]
    return ""
