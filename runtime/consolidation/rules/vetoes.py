"""What speaks against hiding anything: a plan told as a plan, an old story, a return, somebody else's opinion."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.tokens import Token

_LONG_AGO = re.compile(
    r"\b(?:years? ago|decades? ago|months ago|as a (?:child|kid|teenager|student|boy|girl)|back then|in (?:my|their|his|her) (?:youth|childhood|twenties|teens)|"
    r"at (?:school|university) (?:user|i)|when (?:user|i) was|once (?:lived|worked|had|owned|was)|had once|used to|long ago|at the time|earlier in life|formerly|"
    r"previously|last (?:year|summer|winter|spring|autumn|century)|before (?:that|then|moving))\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:in|since|until|from|back in|during) ((?:19|20)\d{2})\b", re.IGNORECASE)
_BACK = re.compile(
    r"\b(?:is|are|am|'m|went|gone|goes|moved|came|come|switched|got|now|changed) back\b(?! pain)|\bback (?:at|in|with|on|to) (?!(?:the )?\d)|\b(?:again|once more|returned to|returns to|"
    r"re-?joined|resumed|restarted|reinstated|after all these)\b",
    re.IGNORECASE,
)
_TO_FROM = re.compile(r"\b(to|from)\s+$", re.IGNORECASE)
_COMING = re.compile(
    r"\b(?:will|'ll|going to|gonna|about to|plans? to|planning (?:to|on)|intends? to|hopes? to|wants? to|would like to|"
    r"looks? forward to|is due to|are due to|is set to|is to|expects? to)\b|"
    r"\b(?:is|are|am|'m|'re) (?:\w+ly )?\w+ing\b[^.;]*\b(?:next|soon|tomorrow|later|in (?:january|february|march|april|may|june|july|august|september|"
    r"october|november|december|spring|summer|autumn|winter|the (?:spring|summer|autumn|winter)|a (?:week|month|year)|\w+ (?:weeks|months|years))|"
    r"from (?:january|february|march|april|may|june|july|august|september|october|november|december|next)|one day|someday|eventually)\b|"
    r"\b(?:from|starting|as of|beginning) next\b|\bin the future\b|\bone day\b|\bsomeday\b|\beventually\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\b(?:wants?|wanted|urg\w+|advis\w+|recommend\w*|told|tells|begs?|begged|keeps? (?:telling|saying|asking)|nags?|insists?|encourag\w+|pressur\w+|"
    r"expects?|convinc\w+|persuad\w+) (?:the )?(?:user|me|him|her|them)\b|\baccording to\b|\brumou?rs?\b|\bapparently\b|\ballegedly\b|\b(?:thinks?|believes?|says?|said|feels?|claims?|fears?|worries|guesses|reckons?) (?:that )?(?:the )?(?:user|i|he|she|they|it)\b(?!'s (?:over|done|off)|\W*$)",
    re.IGNORECASE,
)
_ADVISED = re.compile(
    r"\W*(?!(?:User|I|We)\b(?!['’]))[^,.;:]{2,60}?\b(?:recommend(?:s|ed)?|advis(?:es|ed)|suggest(?:s|ed)|propos(?:es|ed)|urg(?:es|ed)|insist(?:s|ed)|ask(?:s|ed)|wants|wanted|demand(?:s|ed)|begs|begged|told|tells|encourag(?:es|ed)|warn(?:s|ed)|wish(?:es|ed)|pleads|pleaded)\b",
    re.IGNORECASE,
)
"""What somebody other than the user would like."""
_CLAIMED = re.compile(
    r"\W*(?!(?:User|I|We|The (?:receipt|invoice|ticket|letter|statement|label|scale|website))\b)(?:(?:User's|My|The|A|An|Our) (?:[\w-]+ ){1,2}|[A-Z][\w'’-]+ (?:[A-Z][\w'’-]+ )?)"
    r"(?:claims?|claimed|says?|said|thinks?|thought|believes?|heard|hears|insists?|suspects?|guesses|assumes?|swears|alleges|predicts?|jokes?|joked|writes|reckons?) (?:that )?",
)
"""Somebody else's word."""
_UNREAL = re.compile(
    r"\b(?:never|hardly ever)\b|\b(?:expects?|expected|afraid|fears?|worri(?:es|ed)|assum(?:es|ed)|predicts?|suspects?|dreads?) (?:that|user|i|they|it)\b|"
    r"\b(?:plan|idea|proposal|suggestion|aim|hope) is (?:that|to)\b|\b(?:people|they|others|everyone|everybody|some)\b[^.,;]{0,30}\b(?:say|claim|believe|think|reckon)\b|\b(?:exercise sentence|example sentence|for example|fictional|imaginary)\b",
    re.IGNORECASE,
)
"""Expected, feared, proposed, generally said or made up."""
_NOT_MEANT = re.compile(
    r"\b(?:not true|untrue|not the case|false that|no truth|den(?:y|ies|ied) (?:that|\w+ing)|a lie)\b|\b(?:only|just) (?:(?:for|until|till|on|while) )?(?:this|that|the|today|tonight|tomorrow|until|while|for)\b|"
    r"\bfor (?:this|the) (?:week|month|time being|weekend|moment|day|summer|winter)\b|\bjust now and then\b|"
    r"\bnot (?:that|because|only|just|to say|mean|as if)\b|n't (?:just|only|mean|because)\b|\bjok(?:e|ed|ing|ingly)\b|\bkidding\b|\bas if\b|\bfor (?:a|an|one|two|three|\d+) (?:day|night|week|month|year|hour|change|while|moment|weekend|season)s?\b|"
    r"\btemporar\w+\b|\bfor (?:now|the moment|once)\b|\bjust (?:this|for)\b|\bon trial\b|\btrial\b|\bduring\b|\bexcept\b|\bwhile (?:the|user|i|on|in|at)\b|\bno(?:body)? (?:plans?|intention) (?:to|of)\b",
    re.IGNORECASE,
)


def speaks_against(older: Reading, newer: Reading, anchor: Clause, may_return: bool = False) -> str | None:
    """Why the sentence around the anchor changes nothing of the older record; None when nothing speaks against."""
    sentence = next((s for s in newer.sentences if s.start <= anchor.start < s.end), anchor)
    text = sentence.masked
    if _OPINION.search(text) or _CLAIMED.match(text) or _ADVISED.match(text):
        return "somebody's opinion"
    if sentence.hedged or _UNREAL.search(text) or _JOKED.search(text):
        return "not stated as true"
    if _UNTIL.search(text) and not _PUT_OFF.search(text) and not _UNTIL.search(older.masked):
        return "only until a day"
    if not may_return and _BACK.search(text) and not _BACK.search(older.masked):
        return "a return to an earlier state"
    if _NOT_MEANT.search(text) and not _NOT_MEANT.search(older.masked):
        return "not meant, or for a while"
    if told_of_past(older, sentence):
        return "a story of the past"
    if _COMING.search(text) and not planned(older) and not wording.OWN_REQUEST.search(text):
        return "a plan"
    return None


_UNTIL = re.compile(r"\b(?:until|till) (?!now\b|recently\b|then\b)", re.IGNORECASE)
_PUT_OFF = re.compile(
    r"\b(?:postpon|push|extend|delay|put|defer|reschedul|prolong|adjourn)\w*|\b(?:give|gave|has|have|got)\b[^,.]{0,12} until\b",
    re.IGNORECASE,
)
"""What is put off until a day has that day as its new value."""


def unmeant(newer: Reading, anchor: Clause) -> bool:
    """Joked, denied, claimed by somebody else or only possible: no correction either."""
    sentence = next((s for s in newer.sentences if s.start <= anchor.start < s.end), anchor)
    return (
        bool(_CLAIMED.match(sentence.masked) or _JOKED.search(sentence.masked) or _UNREAL.search(sentence.masked))
        or sentence.hedged
    )


_JOKED = re.compile(
    r"\bjok(?:e|es|ed|ing|ingly)\b|\bkidding\b|\bnot true\b|\buntrue\b|\bnot the case\b|\bden(?:ies|ied)\b", re.I
)


def told_of_past(older: Reading, sentence: Clause) -> bool:
    """A year before the older record was said, or words for long ago."""
    years = [int(year) for year in _YEAR.findall(sentence.masked)]
    if any(year < older.record.source_time.year for year in years) and not _YEAR.search(older.masked):
        return True
    return bool(_LONG_AGO.search(sentence.masked)) and not re.search(r"\bused to\b", sentence.masked, re.IGNORECASE)


def planned(older: Reading) -> bool:
    """Whether the older record is of something to come, or of a schedule: then a plan may replace it."""
    if any(s.due or wording.FUTURE.search(s.masked) or _COMING.search(s.masked) for s in older.sentences):
        return True
    return any(token.date or ":" in token.norm for token in older.tokens)


def compound(first: Token, second: Token, clause: Clause) -> bool:
    """Whether two words stand together as one name of a thing: the bike helmet, Anna's sister."""
    between = clause.text[first.end - clause.start : second.start - clause.start]
    return between in {" ", "-", "'s ", "’s "}


def crossed(unit: Clause, other: Clause) -> bool:
    """The flight to Oslo is not the flight from Oslo."""
    for token in unit.tokens:
        if token.named and not token.number and not token.date and token.norm in other.norms:
            mine = _TO_FROM.search(unit.text[: token.start - unit.start])
            twin = next(t for t in other.tokens if t.norm == token.norm)
            theirs = _TO_FROM.search(other.text[: twin.start - other.start])
            if mine and theirs and mine[1].lower() != theirs[1].lower():
                return True
    return False
