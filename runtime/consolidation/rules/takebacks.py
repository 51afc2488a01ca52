"""The ways in which English takes something back, as patterns: what was is `old`; what comes in its place is `new`."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from enum import StrEnum

from engrain.runtime.consolidation.rules import cues


class Kind(StrEnum):
    """How something stopped being so; each asks something else of the older record."""

    PREFERENCE = "preference"
    ENDED = "ended"
    PARTED = "parted"
    LEFT = "left"
    CANCELLED = "cancelled"
    REMOVED = "removed"
    DONE = "done"
    REPLACED = "replaced"
    CORRECTED = "corrected"


_STOP = r"(?=\s*(?:[,.:](?!\d)|[;!?–—]|\s-\s|\bbut\b|\bbecause\b|\bsince\b|\bafter\b|\bdue to\b|\bfollowing\b|\bthanks to\b|\bbefore (?:it|the|they|user|i)\b|\bwhen (?:it|the|user|i)\b|\bas soon as\b|\b(?:in|since|as of|back in) (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4})\b|\band (?:user|i|now|they|is|has|started)\b|$))"
_LISTS = (
    r"(?:list|lists|to-?dos?|tasks?|tracker|calendar|agenda|wishlist|watchlist|reminders?|objectives?|deliverables?|"
    r"stakeholders?|attendees?|decisions?|items?|points?|recipients?|plan|schedule|basket|cart|fields?|section|"
    r"menu|itinerary|programme|team|group|notes)"
)
_CHANGE_VERBS = (
    r"(?:turn|trim|slash|scal|dial|tighten|grew|rose|fell|climb|chang|updat|revis|mov|switch|shift|rais|increas|lower|reduc|cut|upgrad|downgrad|revert|reschedul|push|postpon|"
    r"brought|bring|extend|shorten|rebook|transfer|convert|went|adjust|modif|bump|drop|set|correct)\w*"
)

_TOPIC = r"(?:^|[,.;!?]\s+|\band\s+)(?:user's |the |my |our )?(?!an? |some |any |every |each |one |last |first |next |no )(?P<old>[^,.;!?]+?)"
_TABLE: tuple[tuple[Kind, str], ...] = (
    (Kind.REMOVED, r"\bno longer (?:track\w*|need\w* to track|ha(?:s|ve)|need\w*|want\w*)\s+(?P<old>['\"“‘*]_+['\"”’*])"),
    (
        Kind.REMOVED,
        rf"\b(?:remov|delet|drop|strik|struck|cross|tak|took|eras|clear|tick|check|scratch)\w*\s+(?:out\s+)?(?P<old>[^.;!?]+?)\s+"
        rf"(?:from|off|out of)(?: of)?\s+(?P<list>[^.;!?]*?\b{_LISTS})\b",
    ),
    (
        Kind.REMOVED,
        rf"\b(?:want|wants|wanted|would like|like|ask\w* for)\s+(?P<old>[^.;!?]+?)\s+(?:taken|removed|deleted|dropped|struck|"
        rf"crossed)\s+(?:from|off|out of)\s+(?P<list>[^.;!?]*?\b{_LISTS})\b",
    ),
    (Kind.REMOVED, rf"\b(?:remov|delet|cancel)\w*\s+(?:the |a |my |their )?(?:reminder|task|entry|item|alarm)s?\s+(?:to|for|about|called)?\s*(?P<old>.+?){_STOP}"),
    (
        Kind.REMOVED,
        rf"(?P<old>[^.,;!?]+?)\s+(?:was|were|is|are|has been|have been|got)\s+(?:remov|delet|dropp|struck|cross|tak|eras|clear|tick|scratch)\w*\s+"
        rf"(?:from|off|out of)\s+(?P<list>[^.;!?]*?\b{_LISTS})\b",
    ),
    (Kind.REMOVED, r"\bhad\s+(?P<old>['\"“‘*]_+['\"”’*])\s+(?:taken|removed|deleted|dropped|struck|crossed|erased)\b"),
    (Kind.REMOVED, r"\b(?:remov|delet)\w*\s+(?P<old>['\"“‘*]_+['\"”’*])"),
    (Kind.REMOVED, rf"(?:\bnot|n't) (?:need|want)\s+(?P<old>[^.;!?]+?)\s+on\s+(?P<list>[^.;!?]*?\b{_LISTS})\s+any\s?(?:more|longer)\b"),
    (Kind.DONE, r"\bmarked\s+(?P<old>[^.;!?]+?)\s+(?:as\s+)?(?:done|complete[d]?|finished)\b"),
    (Kind.DONE, rf"\b(?:finished|completed|done|wrapped up|took care of|taken care of|checked off|crossed off|ticked off|got through)\s+(?:with\s+)?(?P<old>.+?){_STOP}"),
    (Kind.DONE, r"(?:^|[,.;!?]\s+)(?P<old>[^,.;!?]+?)\s+(?:is|are)\s+(?:now\s+|finally\s+|already\s+)?(?:done|finished|complete[d]?|taken care of)\b"),
    (Kind.CANCELLED, rf"\b(?:cancel(?:l?ed|s)?|call(?:ed)? off|scrapped|back(?:ed)? out of|pull(?:ed)? out of|decided (?:not to|against)|not going ahead with|ditched)\s+(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"\b(?:won't|will not|isn't going to|is not going to|am not going to|not going to)\s+(?:be\s+)?(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"\bno longer (?:going to|plan(?:s|ning)? (?:to|on)|needs? to|has to|intends? to|wants? to)\s+(?P<old>.+?){_STOP}"),
    (Kind.ENDED, rf"\bno longer\s+(?P<old>.+?){_STOP}"),
    (Kind.ENDED, r"\b(?:does not|doesn't|do not|don't|is not|isn't|has not|hasn't|not)\s+(?P<old>[^,.;!?]+?)\s+any\s?(?:more|longer)\b"),
    (Kind.ENDED, rf"\b(?:stopped|quit|quits|gave up|given up|ceased|dropped out of|withdrew from|resigned from|got rid of)\s+(?P<old>.+?){_STOP}"),
    (Kind.PARTED, rf"\b(?:sold|gave away|got rid of|returned|threw (?:away|out)|traded in)\s+(?P<old>.+?){_STOP}"),
    (Kind.LEFT, rf"\b(?:left|resigned from|retired from|quit|was laid off from|broke up with|split (?:up )?(?:with|from)|took over from|takes over from)\s+(?P<old>.+?){_STOP}"),
    (Kind.LEFT, r"\b(?:user|i) and (?P<old>[A-Z]\w+|[a-z ]{3,20}?)\s+(?:have |has |just )*(?:broke up|split(?: up)?|separated|got divorced|divorced|parted ways|are no longer together|called it quits)\b"),
    (Kind.LEFT, r"(?:^|[,;.]\s+)(?:since\s+)?(?P<old>[A-Z]\w+)\s+(?:has\s+)?left\b"),
    (Kind.REPLACED, rf"\breplac(?:ed|es|ing)\s+(?P<old>.+?)\s+(?:with|by)\s+(?P<new>.+?){_STOP}"),
    (Kind.REPLACED, rf"\b{_CHANGE_VERBS}\s+(?P<what>[^.;!?]*?)\bfrom\s+(?P<old>[^.;!?]+?)\s+(?:back |up |down |over )?to\s+(?P<new>.+?){_STOP}"),
    (Kind.REPLACED, rf"\brevert\w*\s+(?P<what>[^.;!?]*?)\s*(?:back )?to\s+(?P<new>[^.;!?]+?)\s+from\s+(?P<old>.+?){_STOP}"),
    (Kind.REPLACED, rf"\b(?:instead of|rather than|in place of)\s+(?P<old>.+?){_STOP}"),
    (Kind.REPLACED, rf"\bswitched from\s+(?P<old>[^.;!?]+?)\s+to\s+(?P<new>.+?){_STOP}"),
    (Kind.CORRECTED, rf"(?:,|\band)\s+(?:and\s+)?not\s+(?:in |on |at |for )?(?P<old>[^,.;!?]+?){_STOP}"),
    (Kind.ENDED, rf"\b(?:{cues.ENDING_WORDS})\s+(?:on\s+)?(?P<old>.+?){_STOP}"),
    (Kind.PARTED, rf"\b(?:lost|scrapped|recycled|wrecked|totalled|gave up)\s+(?P<old>.+?){_STOP}"),
    (Kind.PARTED, r"\b(?:donated|passed on|gave|given|handed)\s+(?P<old>[^.,;!?]+?)\s+(?:to|away)\b"),
    (Kind.ENDED, r"\bmoved out(?: of)?\s+(?P<old>.+?)(?=\s+(?:into|to|and)\b|\s*[,.;!?]|\s*$)"),
    (Kind.LEFT, rf"\b(?:resigned from|(?:resigned|retired|stepped down|stood down|quit) as|handed in (?:my|the|their) notice at|moved on from|parted ways with|divorced|separated from|fired|sacked|(?:laid off|let go|fired|sacked|dismissed|made redundant) (?:by|from|at))\s+(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"{_TOPIC}(?:\s+(?:is|are|was|were|has|have|had|got|'s|been|now|finally|already|all|officially|just|being))+\s+(?:{cues.OVER_WORDS})\b(?!\s+(?:to|for|with|by two|its|his|her|their|the|a|an|my|our|\w+ing|\w+'s)\b)"),
    (Kind.CANCELLED, rf"{_TOPIC}\s+(?:fell through|(?:has |have |had )?(?:lapsed|expired|run out|fallen through)|came to an end|has come to an end|expired|ran out|ended|lapsed|died|broke down for good|(?:won't|will not|isn't going to|is not going to) (?:happen|take place|go ahead))\b"),
    (Kind.CANCELLED, r"(?:^|[.;!?]\s+)(?:so\s+)?no\s+(?P<old>[^,.;!?]+?)\s+(?:after all|any\s?more|for (?:me|us|user)|this time|now)\b"),
    (Kind.CANCELLED, rf"\b(?:gave up|given up|dropped|abandoned|scrapped|shelved|ditched|decided against|changed (?:my|their|user's) mind about|let go of|got cold feet about)(?:\s+on)?\s+(?:(?:the|my|their|all)\s+)?(?:idea|plans?|thoughts?|dream|notion|intention)\s+(?:of|to|for|about)\s+(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"\b(?:not|n't)\s+(?:going|coming|making it|flying|travelling|attending|taking part in)\s+(?:to\s+)?(?P<old>.+?)(?:\s+after all\b|{_STOP})"),
    (Kind.REPLACED, rf"\b(?:swapped|exchanged|traded(?: in)?|ditched|dropped|abandoned|left|gave up|given up|quit)\s+(?P<old>[^.;!?]+?)\s+(?:for|in favou?r of)\s+(?P<new>.+?){_STOP}"),
    (Kind.REPLACED, rf"{_TOPIC}\s+(?:is|was|were|has been|have been|got)\s+(?:now\s+)?(?:replaced|succeeded|superseded)\s+(?:by|with)\s+(?P<new>.+?)(?:\s+as\b|{_STOP})"),
    (Kind.CANCELLED, rf"{_TOPIC}(?:\s+(?:is|are|was|were|has|have|had|got|been|now))+\s+(?:postponed|rescheduled|put off|delayed until)\b"),
    (Kind.ENDED, r"\b(?:gave|given|giving)\s+(?P<old>(?!up\b)[^,.;!?]{2,50}?)\s+up\b(?!\s+for\b)"),
    (Kind.ENDED, r"\blet\s+(?P<old>[^,.;!?]{2,50}?)\s+(?:go|lapse|expire|run out)\b"),
    (Kind.ENDED, rf"\b(?:(?:gave|given|handed in) (?:my |the |their )?notice (?:on|at|for)|put an end to|uninstalled|deactivated|unsubscribed from|deregistered from|checked out of|signed out of)\s+(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"\b(?:took|taken|weaned|struck) (?:user|me) off\s+(?P<old>.+?){_STOP}"),
    (Kind.ENDED, rf"\bclosed (?:down )?(?P<old>[^,.;!?]*?\b(?:accounts?|tabs?|business|shop|store|practice|company|firm|blog|policy|file|case)\b.*?){_STOP}"),
    (Kind.ENDED, rf"\b(?:is|am|are|'m|been|went|gone) off (?!to\b|for\b|with\b|on\b|work\b|duty\b)(?P<old>.+?)(?=\s+(?:now|for good)\b|{_STOP[3:]}"),
    (Kind.PARTED, r"\b(?:handed|gave|given|sent|took)\s+(?P<old>[^,.;!?]{2,50}?)\s+back\b"),
    (Kind.REPLACED, r"\b(?:gave|given)\s+(?P<old>[^.,;!?]{2,40}?)\s+up\s+for\s+(?P<new>[^.,;!?]+)"),
    (Kind.REPLACED, rf"(?P<new>[^.;!?,]+?)\s+(?:has |have )?(?:taken|took)\s+the\s+place\s+of\s+(?P<old>.+?)(?:\s+(?:for|as|in)\b|{_STOP})"),
    (Kind.REPLACED, r"\binstead of\s+(?:\w+ing\s+)?(?P<old>[^,.;!?]+)"),
    (Kind.REPLACED, rf"(?P<new>[^.;!?,]+?)\s+(?:has |have )?(?:replaced|took over from|takes over from|taken over from|succeeded|superseded)\s+(?P<old>.+?){_STOP}"),
)  # fmt: skip
PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _TABLE)
"""Kind, and the pattern that finds it."""
