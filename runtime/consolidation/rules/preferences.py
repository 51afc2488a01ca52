"""Liking and disliking, and the ways in which English says that it is over."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

_LIKED = (
    r"lik(?:e|es|ed|ing)|lov(?:e|es|ed|ing)|enjoy(?:s|ed|ing)?|ador(?:e|es|ed|ing)|prefer(?:s|red|ring)?|"
    r"favou?rites?|fan of|into|all about|fond of|appreciat(?:e|es|ed|ing)|(?:drawn|gravitat\w+) (?:more )?(?:to|towards?)|"
    r"keen on|admir(?:e|es|ed|ing)|fascinat\w+|captivat\w+|soft spot|listening to|obsessed with|passionate about|"
    r"interested in|(?:found|find|finds|finding)\b[^,.;]{0,60}?\b(?:incredibl[ey]|brilliant|beautiful|compelling|"
    r"interesting|fascinating|amazing|enriching|inspiring|insightful)"
)
_DISLIKED = (
    r"dislik(?:e|es|ed|ing)|hat(?:e|es|ed|ing)|detest(?:s|ed|ing)?|loath(?:e|es|ed)|despis(?:e|es|ed)|"
    r"(?:can(?:no|')t|could(?:n't| not)) (?:\w+ )?(?:stand|get into|get behind|seem to enjoy|bear)|cannot (?:\w+ )?get into|"
    r"not (?:\w+ ){0,3}(?:fan of|like|enjoy|into|love|care for|keen|thing|jam|cup of tea|vibe|drawn|favou?rite|"
    r"connect|appreciate|interested)|n't (?:\w+ ){0,3}(?:fan of|like|enjoy|into|love|care for|keen|thing|jam|"
    r"cup of tea|vibe|drawn|favou?rite|connect|appreciate|for me|for user|do it for|click|clicked|resonate|interested)|"
    r"not (?:\w+ )?(?:for me|for user)|not (?:\w+ )?resonate|never (?:\w+ )?clicked|steers? clear|unlike"
)
LIKED = re.compile(rf"\b(?:{_LIKED})\b", re.IGNORECASE)
DISLIKED = re.compile(rf"\b(?:{_DISLIKED})\b|(?:{_DISLIKED})\b", re.IGNORECASE)

_DEGREE = (
    r"(?:(?:really|actually|absolutely|always|quite|super|so|very|totally|just|more|a lot|lean|genuinely|truly)\s+)*"
)
_END = (
    r"(?=\s*(?:[,.;!?–—]|\s-\s|\bbut\b|\bthough\b|\bhowever\b|\bthan\b|\buntil\b|\bwhen\b|\band\b (?:now|user|i)\b|$))"
)

USED_TO_LIKE = re.compile(
    rf"\bused to\s+{_DEGREE}(?:(?:think|say|believe)\s+(?:that\s+)?(?:user|i)\s+{_DEGREE})?"
    rf"(?P<verb>(?:be\s+|been\s+|was\s+|is\s+|were\s+)?{_DEGREE}(?:not\s+)?(?:a\s+)?(?:big\s+|huge\s+)?"
    rf"(?:not\s+)?(?:{_LIKED}|{_DISLIKED}|towards))\s+(?P<old>.+?){_END}",
    re.IGNORECASE,
)
"""`used to be really into X`, `used to dislike X`."""

GONE_OFF = re.compile(
    r"\b(?:(?:gone|went|going|goes) off(?: of)?|mov(?:ed|ing) (?:on|away)(?: from| past)|moved past|grown out of|outgr(?:ew|own)|"
    r"fallen out of love with|lost (?:\w+ )?interest in|drift(?:ed|ing) away from|(?:grown |got(?:ten)? )?tired of|"
    r"had enough of|over (?:\w+ )?phase of)\s+"
    rf"(?P<old>.+?){_END}",
    re.IGNORECASE,
)
NOT_LIKED_ANY_MORE = re.compile(
    rf"\b(?:not|n't|no longer)\s+{_DEGREE}(?:a\s+)?(?:big\s+|huge\s+|that\s+)?(?:{_LIKED})\s+"
    r"(?P<old>.+?)\s*(?:any ?more|any longer|these days|as much|now\b|lately|like (?:user|i) used)",
    re.IGNORECASE,
)
NO_LONGER_LIKED = re.compile(
    rf"\bno longer\s+{_DEGREE}(?:an?\s+)?(?:big\s+|huge\s+)?(?P<verb>{_LIKED}|{_DISLIKED}|scared of|afraid of)\s+(?P<old>.+?){_END}",
    re.IGNORECASE,
)
FORMER_FAVOURITE = re.compile(
    rf"(?:^|[,.;!?]\s|\bactually\b,?\s|\bthink\s)(?P<old>[^,.;!?]+?)\s+used to be\s+{_DEGREE}(?:a|one of|my|user's)?\s*[^,.;!?]*?favou?rite",
    re.IGNORECASE,
)
MORE_THAN = re.compile(
    rf"\b(?:more (?:into|drawn to|towards?|of)|prefer(?:s|red|ring)?|(?:would|'d) sooner (?:have |get |take |use |do |go |\w+ )?|rather (?:have|get|take|use|watch|read|listen to)|"
    rf"enjoy(?:s|ing|ed)?|into|getting into|drawn to)\b[^.;!?]*?\b(?:than|over|instead of|rather than|compared to)\s+"
    rf"(?:in\s+|with\s+|to\s+)?(?P<old>.+?){_END}",
    re.IGNORECASE,
)
PREFERRED_TO = re.compile(
    rf"\bprefer(?:s|red)?\s+[^,.;!?]+?\s+to\s+(?P<old>.+?)(?=\s+(?:now|these days|nowadays)\b|{_END[3:]}", re.IGNORECASE
)
PREFERENCE_FROM_TO = re.compile(
    rf"\b(?:preference|taste|favou?rite)s?\b[^.;!?]*?\bfrom\s+(?P<old>.+?)\s+to\s+.+?{_END}", re.IGNORECASE
)
TAKEN_FROM_FAVOURITES = re.compile(
    r"\b(?:remov|delet|drop|tak)\w+\s+(?P<old>.+?)\s+(?:from|off)\s+[^.;!?]*?(?:favou?rites?|preferences?|likes)",
    re.IGNORECASE,
)
CHANGED_MIND = re.compile(
    rf"\bchanged\s+(?:my|user's|their)\s+(?:mind|tune|opinion|view)\s+(?:about|on)\s+(?P<old>.+?){_END}", re.IGNORECASE
)

RETIRED = (
    USED_TO_LIKE,
    GONE_OFF,
    NOT_LIKED_ANY_MORE,
    NO_LONGER_LIKED,
    FORMER_FAVOURITE,
    MORE_THAN,
    PREFERRED_TO,
    PREFERENCE_FROM_TO,
    TAKEN_FROM_FAVOURITES,
)
"""Each captures, as `old`, what is not liked (or not disliked) any more."""


def liking(text: str) -> int:
    """1 when the text says that something is liked, -1 disliked, 0 neither. Dislike is looked for first."""
    if DISLIKED.search(text):
        return -1
    return 1 if LIKED.search(text) else 0
