"""A task, plan or thing under way that the newer record tells to be done: every word of it again, in the past."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.agents import other_agent
from engrain.runtime.consolidation.rules.coverage import residue, trim
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.matching import Struck, recurs_once
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.tokens import Token, normalise

_OPEN = re.compile(
    r"\b(?:needs?|has|have|had|ought|wants?|plans?|planning|intends?|hopes?|hoping|going|still|gotta|got|must|should|remember|meant|"
    r"remind(?:er)?|aims?|due|supposed|is about|trying|would like|'d like) to\b|\bto[- ]?dos?\b:?|\b(?:open |my |pending )?tasks?:?|"
    r"\bmust\b|\bshould\b|\bdon'?t forget to\b|\bwill\b|\b(?:half-?way|part-?way) (?:through|into)\b|\bin the middle of\b|"
    r"\b(?:is|am|still|'m|are) (?:busy )?(?:reading|writing|watching|working (?:on|through|towards?)|waiting for|looking for|saving (?:up )?for|expecting|"
    r"preparing|assembling|packing|fixing|installing|renovating|cleaning|translating|organising|sewing|restoring|painting|building|knitting|doing|taking|learning|studying|revising|applying|training for|waiting on|fixing)\b|"
    r"\b(?:is|are) (?:still )?(?:pending|open|outstanding|unfinished)\b|\bneeds?\b(?= an? | some | \w+ing\b)|\bowes?\b|\breminder:?|\bopen (?:on|in)[^:]{0,30}:",
    re.IGNORECASE,
)
_UNDER_WAY = re.compile(r"\b(?:half-?way|part-?way|in the middle|(?:is|am|'m|are|still) \w+ing)\b", re.IGNORECASE)
PAST = re.compile(
    r"\w{2,}ed|bought|met|ran|wrote|written|sent|paid|took|taken|made|did|done|got|went|gone|saw|seen|read|had|sold|spoke|"
    r"spoken|built|held|drew|gave|given|found|put|set|hung|cut|brought|told|taught|swept|lent|won|chose|chosen|"
    r"caught|ate|eaten|cleaned|dug|drove|driven|flew|flown|rode|sung|sang|came|left|kept|let|shut|fed|burnt|rung|rang|"
    r"knit|fell|lost|broke|stole|came|hit|hurt|forgot|slept|stood|stuck|swam|wore|woke|shook|hid|bit|blew|froze|sewn|torn|thrown|threw|begun|grown|grew|dealt|laid|spent|handed",
    re.IGNORECASE,
)
_OUTCOMES = (
    (r"looking for|hunting for|searching for|need", r"\b(?:found|got|hired|signed|landed|bought)\b"),
    (r"waiting (?:for|on)", r"\b(?:arrived|came|got|received|is here|delivered|heard back)\b"),
    (r"saving (?:up )?for", r"\b(?:bought|got|paid)\b"),
    (r"working towards?", r"\b(?:got|passed|earned|received|obtained|gained)\b"),
    (r"applying", r"\b(?:got|accepted|admitted|hired|received)\b"),
    (r"owes?", r"\b(?:paid|gave|returned|settled)\b"),
    (r"training for", r"\b(?:ran|swam|cycled|walked|did|won|completed|finished)\b"),
    (r"expecting", r"\b(?:had|gave birth|delivered|got|received|came|arrived)\b"),
    (r"learning|training", r"\b(?:passed|mastered)\b"),
)
"""What one does towards something, and the word that says it came."""
_DENIED = re.compile(
    r"\b(?:not|never|hasn't|haven't|didn't|isn't|without|unable|failed|forgot|can't|couldn't)\b", re.IGNORECASE
)
_DUE_STILL = re.compile(
    r"\b(?:needs?|has|have|must|should|wants?|plans?|going|still|ought|remains?) to\b|\bmust\b|\bshould\b|\bwill\b|\bstill\b|"
    r"\bon (?:my|the|their) (?:to-?do )?list\b",
    re.IGNORECASE,
)
_WHEN = wording.words(
    "today tomorrow tonight week weekend month soon befor by end until next day later morn even afternoon winter summer spring autumn christma easter"
)


def match_completion(older: Reading, newer: Reading) -> tuple[Struck, Clause] | None:
    """The older statement when it is of something to do, or under way, that the newer tells to be done."""
    for unit in older.sentences:
        found = _OPEN.search(unit.masked)
        if found is None or wording.RECURRING.search(unit.masked) or unit.past_habit or unit.negative:
            continue
        task = _task(unit, unit.start + found.end())
        for sentence in newer.sentences:
            if _settles(sentence, task, found[0], older, newer):
                start, end = trim(older, unit.start, unit.end)
                return Struck(start, end, whole=not residue(older, start, end, newer)), sentence
    return None


def _task(unit: Clause, start: int) -> list[Token]:
    """The words of the task: behind the opening, or, in `the tax return is still open`, all."""
    behind = [token for token in unit.tokens if token.start >= start and token.norm not in _WHEN]
    if _GERUND.match(unit.masked, start - unit.start):
        behind = []  # the gutters need cleaning
    return behind or [token for token in unit.tokens if token.norm not in _WHEN]


def _settles(sentence: Clause, task: list[Token], opening: str, older: Reading, newer: Reading) -> bool:
    if sentence.hedged or _DENIED.search(sentence.masked) or _DUE_STILL.search(sentence.masked):
        return False
    if cues.PARTLY.search(sentence.masked) and not cues.PARTLY.search(older.masked):
        return False
    if recurs_once(older, newer) or other_agent(older, newer, sentence):
        return False
    if _other_object(sentence, task):
        return False
    words = {token.norm for token in task if not token.date or _of(token, older)} - wording.FRAME_WORDS - {"someth"}
    verb, things = (task[0].norm if task else ""), words - {task[0].norm if task else ""}
    settled = bool(cues.SETTLED_CUE.search(sentence.masked))
    came = _result(opening, sentence)
    under_way = bool(_UNDER_WAY.search(opening))
    acted = normalise(opening.split()[-1].casefold())
    if under_way and acted in _TELIC and words <= sentence.norms | LIGHT and _done(acted, sentence):
        return True
    if not words or (under_way and not settled and not came):
        return False
    if came:
        return words <= sentence.norms | LIGHT
    if not (words if not settled else things or words) <= sentence.norms | LIGHT or not words & sentence.norms - LIGHT:
        return False
    if len(words & sentence.norms) < (1 if settled else 2):
        return False
    if settled and verb not in sentence.norms:
        own = words | LIGHT | wording.FRAME_WORDS | _AROUND
        return (
            not {t.norm for t in sentence.tokens if not cues.SETTLED_CUE.match(t.norm) and not _when(t, sentence)}
            - own
            - _ENDS
        )
    return settled or _done(verb, sentence)


_GERUND = re.compile(r"\s+\w+ing\b(?! (?:the|a|an|my)\b)")
_ENDS = wording.words("finish complet sort settl handl tick check wrap accomplish final done")
_TELIC = wording.words(
    "assembl build paint fix pack instal renov knit clean translat organ sew weld restor unpack fill prepar"
)
_AROUND = wording.words("hunt search process thing task today back off up out")


def _of(token: Token, older: Reading) -> bool:
    """The rent for May is not the rent for April; "by May" is only when."""
    return bool(re.search(r"\b(?:for|of|from)\s+$", older.text[: token.start]))


def _other_object(sentence: Clause, task: list[Token]) -> bool:
    """Greek words are not Greek, Anna's sister is not Anna: another noun right behind a shared one is the real object."""
    things = {token.norm for token in task}
    for first, second in zip(sentence.tokens, sentence.tokens[1:], strict=False):
        between = sentence.text[first.end - sentence.start : second.start - sentence.start]
        last = first.norm in things and not first.number and second.norm not in things
        if (
            last
            and second.norm not in _AROUND
            and between in {" ", "-", "'s ", "’s "}
            and not (PAST.fullmatch(second.norm) or _when(second, sentence))
        ):
            return True
        if (
            first.norm not in things
            and second.norm in things
            and re.fullmatch(r"\s(?:of|by|about)\s(?:the |a |an |my )?", between)
        ):
            return True
    return False


def _when(token: Token, sentence: Clause) -> bool:
    surface = sentence.text[token.start - sentence.start : token.end - sentence.start]
    return bool(
        token.date
        or token.norm in _WHEN | wording.FRAME_WORDS | LIGHT
        or PAST.fullmatch(surface)
        or surface.endswith("ly")
    )


def _result(opening: str, sentence: Clause) -> bool:
    """What ends a search or a wait."""
    return any(
        re.search(begun, opening, re.I) and re.search(ended, sentence.masked, re.I) for begun, ended in _OUTCOMES
    )


def outcome(newer: Reading) -> bool:
    """Whether the record tells that something came that somebody may have looked or waited for."""
    return any(re.search(ended, newer.masked, re.IGNORECASE) for _, ended in _OUTCOMES)


def past_verbs(newer: Reading) -> frozenset[str]:
    """Words in a form of the past: what may have been a task."""
    return frozenset(t.norm for t in newer.tokens if PAST.fullmatch(newer.text[t.start : t.end]))


def _done(verb: str, sentence: Clause) -> bool:
    """The task's own verb, in a form of the past."""
    return any(
        token.norm == verb and PAST.fullmatch(sentence.text[token.start - sentence.start : token.end - sentence.start])
        for token in sentence.tokens
    )
