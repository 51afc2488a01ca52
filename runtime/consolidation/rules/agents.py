"""Who acts in a record: what another person did finishes, ends or sells nothing of the user's."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.cues import TURN_CUE
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.tokens import normalise

_ACTS = re.compile(
    r"\W*(?P<name>[A-Z][\w'’-]+)(?: [A-Z][\w'’-]+)?(?:,[^,]{2,40},)? (?:has|have|had|is|was|no longer|does|did|will|got|gave|sold|left|took|"
    r"made|went|sent|wrote|paid|bought|quit|met|said|says|thinks|wants|finally|already|just|[a-z]+ed)\b"
)
_OWN = wording.words(
    "User I We My Our The A An This That These Those It They He She There Here Today Yesterday Now Then After "
    "Before Since All Both Some No Not Just Also And But So Finally Got Turns Correction Update Done Finished "
    "Everything Nobody Someone What Which As In On At For From With"
)


def other_agent(older: Reading, newer: Reading, clause: Clause) -> bool:
    """Whether the sentence around a clause of the newer record tells what somebody else did, unknown to the older."""
    sentence = next((s for s in newer.sentences if s.start <= clause.start < s.end), None)
    found = _ACTS.match(sentence.masked) if sentence is not None else None
    if found is None or re.split("['’]", found["name"])[0] in _OWN:
        return bool(sentence and _relative(sentence) - _about(older))
    return normalise(found["name"].casefold().removesuffix("'s")) not in _about(older)


def _about(older: Reading) -> frozenset[str]:
    """Who or what the older record is about; in a record without a subject of its own, any of its words."""
    if re.match(r"\W*(?:User|I|We|The user)\b(?!['’]s| and )", older.masked):
        return frozenset(_EXPECTED.findall(older.masked) and older.norms)
    return older.norms


_EXPECTED = re.compile(
    r"\b(?:wait\w* for|expect\w*|hop\w* (?:that|for)|ask\w*|want\w* (?:the|[A-Z])|ha[sd] (?:the|a|an|[A-Z]))\b"
)
"""What the user waits for is done by somebody else."""


def by_stranger(older: Reading, newer: Reading, clause: Clause) -> bool:
    """Whether a person or thing that the older record does not name does something, and the user is not spoken of.

    "Petra cancelled the yoga retreat" cancels nothing of the user's; "Bitwarden replaced LastPass" names what is new.
    """
    if _USER.search(newer.masked) or not _USER.search(older.masked):
        return False
    sentence = next((s for s in newer.sentences if s.start <= clause.start < s.end), None)
    found = _STRANGER.match(sentence.masked) if sentence is not None else None
    if found is None or found["name"] in _OWN or (_REPLACES.search(newer.masked) and not found["whose"]):
        return False
    return normalise(found["name"].casefold().removesuffix("'s")) not in older.norms


_USER = re.compile(r"\b(?:user|i|my|me|we|our|us|mine)\b", re.IGNORECASE)
_STRANGER = re.compile(
    r"\W*(?P<name>[A-Z][\w-]+)(?: [A-Z][\w'’-]+)?(?:(?P<whose>['’]s)|,[^,]{2,40},)? "
    r"(?:(?:\w+ly|just|now|already|also|then) )?(?:(?(whose)\w+|(?!this|is\b)(?:\w+(?:[^s\W]s|ed)|won't|would|can't|cannot|could|will|has|had|did|got|gave|sold|left|took|made|went|sent|"
    r"wrote|paid|bought|quit|met|said|struck|threw|spent|chose|put|set|cut|lost|found|broke|came|ran|hung|swore|told|meant)))\b"
)
"""A name that does something, or has something."""
_REPLACES = re.compile(
    r"\b(?:(?:has |have )?replac(?:ed|es)\b(?![^.]*\b(?:with|by)\b)|taken? over|took over|takes over|taken the place|took the place|succeed\w*)\b"
)
_ACTIVE = re.compile(
    r"\W*(?:User's|My|The user's|The|Our|A|An) (?:[\w-]+ )?(?P<who>[\w-]+)(?: [A-Z]\w+)? (?:has |have |had |just |already |finally )*"
    r"(?P<verb>(?!is\b|was\b|are\b|were\b|been\b)(?:[a-z]+ed|gave|sold|left|took|made|went|sent|wrote|paid|bought|quit|lost|got|threw))\b"
    r"(?= (?:\w+ )?(?:the|a|an|my|their|his|her|its|our|user's|\w+'s|\w+s')\b| [A-Z])"
)


def _relative(sentence: Clause) -> frozenset[str]:
    """`User's brother sold the car`, `The gardener mowed the lawn`: who acts, where a thing is acted upon."""
    found = _ACTIVE.match(sentence.masked)
    return frozenset({normalise(found["who"].casefold())}) if found else frozenset()


_AGENT = re.compile(
    rf"\W*(?:The|My|User's) (?:\w+ )?\w+ (?:has |have )?(?:{TURN_CUE.pattern}) (?:up |back |down )?(?:the user's|user's|my)\b",
    re.IGNORECASE,
)
"""The landlord raised the user's rent: somebody else acts on something of the user's."""
_ON_USER = re.compile(
    r"\W*(?:The|My|User's) (?:\w+ )?\w+ (?:has |have |had )?(?:took|taken|moved|put|switched|gave|given|let|weaned|transferred) (?:the user|user|me)\b",
    re.IGNORECASE,
)
_OFFICES = wording.words("landlord landladi boss manag doctor teacher trainer coach tutor client")
"""Who may set what the user has, other than family and friends."""
_ON_A_THING = re.compile(
    rf"\W*(?:The|My|User's) (?P<who>(?:\w+ )?\w+) (?:has |have |had )?(?:{TURN_CUE.pattern}) (?:up |back |down )?the (?P<thing>\w+)\b",
    re.IGNORECASE,
)


def acts_for_user(masked: str, older: Reading) -> bool:
    """Whether somebody does something to the user, or to what the older record says the user has.

    "The landlord raised the rent", where the older record begins with "User's rent".
    """
    if _AGENT.match(masked) or _ON_USER.match(masked):
        return True
    found = _ON_A_THING.match(masked)
    if found and {normalise(word) for word in found["who"].casefold().split()} & wording.PEOPLE - _OFFICES:
        return False
    owned = re.match(r"\W*(?:User['’]s|My) (?P<head>\w+)", older.masked)
    return bool(found and owned and normalise(found["thing"].casefold()) == normalise(owned["head"].casefold()))
