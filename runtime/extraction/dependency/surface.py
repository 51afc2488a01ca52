"""The cleaned source: characters made harmless, discourse prefixes found, discourse-only text recognised (A.3)."""

from __future__ import annotations

import re

from engrain.runtime.extraction.dependency.lexicons import DISCOURSE_WORDS, EVALUATIVE

_UNSAFE = re.compile(r"[\ud800-\udfff]|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u200b-\u200f\u202a-\u202e\u2060\ufeff\ufffe\uffff]")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[\w'’&-]+")

INTERJECTIONS = r"""oh|ah+|aha|h+m+|um+|uh+|er|well|so|yeah|yes|yep|yup|no|nope|nah|ok|okay|alright|all\ right|sure|great|
    perfect|excellent|awesome|amazing|fantastic|wonderful|cool|nice|wow|ha(?:ha)*|lol|hey|hi|hello|greetings|dear|
    thanks?|thank\ you|thx|cheers|please\ note|anyways?|actually|honestly|frankly|basically|seriously|btw|
    by\ the\ way|like|you\ know|i\ mean|right|absolutely|definitely|exactly|totally|certainly|indeed|true|agreed|of\ course|
    i\ (?:have\ to|must|gotta|will|would)\ (?:say|admit)|let\ me\ (?:see|think|tell\ you)|sorry|apologies|my\ bad|tbh|to\ be\ honest|fyi|for\ what\ it'?’?s\ worth|in\ fact|as\ a\ matter\ of\ fact|
    on\ (?:an|a|that|this)\ (?:other|another|different|side|related|similar|lighter|happier)?\ ?note|speaking\ of\ which|
    funny\ enough|interestingly(?:\ enough)?|good\ (?:morning|afternoon|evening|point|question)|now|also|plus|and|look|listen|
    guess\ what|ooh+|yay|wh?oah?|woah|aw+|omg|phew|ugh|gosh|man|dude|got\ it|i\ see|understood|fair\ enough|makes\ sense|
    that'?’?s\ (?:right|true|fair|great|good|correct)|sounds\ (?:good|great)|in\ that\ case|come\ to\ think\ of\ it|first\ of\ all"""
"""Openers that carry no content when a comma, dash or sentence mark follows."""
BARE_OPENERS = r"oh|ah+|h+m+|um+|uh+|well|so|yeah|yep|yup|ok|okay|lol|ha(?:ha)+|hey|hi|hello|and|anyways?|plus|wow|btw"
"""Openers that are dropped without punctuation after them."""
_VOCATIVE = r"(?:\ (?:there|again|everyone|all|guys|so\ much|very\ much|a\ lot|yeah|yes|no|then|[A-Z][a-z]+))?"
_CLAUSE_START = r"(?=(?:[\"“'*]?)(?:i|we|my|our|the|a|an|it|he|she|they|you|there|this|that|did|do|does|have|has|is|are|can|could|what|how|who|when|where|why|have|would|will|if)\b)"
_NAME_START = r"(?=[\"“'*]?(?-i:[A-Z]))"
_TOPIC = (
    r"(?:speaking|talking|thinking)\ (?:of|about)\ [^.!?;]{1,160}?[,;]\ ?"
    r"|(?:that|this|it|which)(?:\ all)?(?:\ (?:actually|really|kind\ of|also))?\ (?:makes?|made|got|has|gets)\ me"
    r"(?:\ (?:think|thinking|wonder|wondering))?\ (?:of|about)\ [^.!?;]{1,160}?[,;]\ ?"
    r"|(?:that|this|it|which)(?:\ (?:actually|really|kind\ of|also))?\ reminds?\ me(?:\ (?:a\ lot\ )?of\ [^.!?;,]{1,100})?[,;]\ ?"
    r"|on\ the\ (?:topic|subject|note)\ of\ [^.!?;,]{1,80}[,;]\ ?"
    r"|(?:that|this|it)\ (?:makes?|made|got)\ me\ (?:think|wonder)[,;]\ ?"
)
_TOPIC_JOIN = r"(?:(?:and|but|so|because)\ )?"
_PREFIX = re.compile(
    rf"\s*(?:(?:{_TOPIC}){_TOPIC_JOIN}{_CLAUSE_START}"
    rf"|(?:{_TOPIC}){_TOPIC_JOIN}{_NAME_START}"
    rf"|(?:{INTERJECTIONS}){_VOCATIVE}\s*(?:[,;:!.]+|[–—-]+(?=\s)|…)\s*"
    rf"|(?:{BARE_OPENERS})\s+(?=\S))",
    re.IGNORECASE | re.VERBOSE,
)

_EVALUATION = "|".join(sorted(EVALUATIVE))
_DISCOURSE_ONLY = re.compile(
    rf"""(?:
    (?:(?:that|this|it|those|these|which|what)\s*(?:all\s)?(?:'s|’s|is|was|are|sounds?|seems?|looks?|makes?|would\ be|must\ be|
        really\ is)|sounds?|what|how)\s
        (?:\w+ly\s|so\s|very\s|quite\s|pretty\s|such\s|just\s|a\s|an\s|all\s|like\s|super\s|always\s|to\ hear\s|the\s|lot\s|of\s|some\s)*
        (?:{_EVALUATION}|sense|clever|smart|relief|news|deal)\b
        (?:\s(?:and|,)?\s?(?:\w+ly\s)?(?:{_EVALUATION})\b)*
        (?:\s(?:one|idea|ideas|point|points|question|questions|news|to\ hear(?:\ (?:that|it))?|to\ know|stuff|way|thought|
            perspective|distinction|explanation|example|fact|observation|to\ me|of\ you|job|work|plan|indeed|too|thing|advice|
            suggestion|suggestions|to\ think\ about|to\ consider|insight|analogy|of\ you\ to\ say|development))*
    |thank(?:s|\ you)\b.{{0,60}}
    |(?:i\ )?appreciate\ (?:it|that|this|you|your)\b.{{0,40}}
    |how\ (?:are|r)\ (?:you|u|things)(?:\ (?:doing|going))?(?:\ (?:today|lately|these\ days))?
    |how'?’?s\ it\ going|what'?’?s\ (?:up|new)(?:\ with\ you)?|how\ have\ you\ been
    |(?:it'?’?s\ )?(?:nice|good|great|lovely)\ to\ (?:meet|see|hear|talk|chat|catch)\b.{{0,40}}
    |(?:see|talk\ to|catch)\ (?:you|ya|u)(?:\ (?:later|soon|around|then))?
    |have\ a\ (?:great|good|nice|lovely|wonderful)\ (?:day|one|night|weekend|evening|time)
    |you'?’?re\ welcome|no\ (?:problem|worries)|got\ it|i\ (?:see|understand|agree)|good\ luck.{{0,20}}|take\ care
    |i'?’?m\ (?:doing\ )?(?:very\ |really\ |pretty\ |quite\ )?(?:well|good|fine|great|okay|ok)\b(?:,?\ (?:too|as\ well|thanks?.{0,25}|today))*
    |(?:my\ )?day\ (?:is|has\ been)\ (?:going\ )?(?:well|good|great|fine).{0,20}
    |that'?’?s\ (?:all|it)(?:\ (?:i\ (?:need|have)))?(?:\ for\ (?:now|today))?
    |(?:what|how)\ about\ you|and\ you|you\ too|me\ too|same\ here|fingers\ crossed|let\ me\ know
    |i\ hope\ (?:you'?’?re|you\ are)\ (?:doing\ )?(?:well|good|ok|okay)(?:\ today)?
    |i'?’?m\ (?:so\ |really\ |very\ )?(?:glad|happy|sorry)\ to\ hear\ (?:that|it)
    )[\s.!?,…]*""",
    re.IGNORECASE | re.VERBOSE,
)


_PHATIC = re.compile(
    r"""(?:
    i\s?(?:'m|’m|am|'ve|’ve|have|was)?\ (?:so\ |really\ |very\ |just\ |actually\ |truly\ )*
        (?:glad|happy\ to|pleased|sorry|enjoyed|enjoying|appreciate|look(?:ing)?\ forward|hope\ (?:you|we)|thank|wish\ you)\b.*
    |i\ (?:actually\ |really\ |think\ |should\ |probably\ |guess\ |just\ |'d\ |will\ )*
        (?:need\ to|have\ to|should|must|better|got\ to|'ll|will)\ (?:probably\ |actually\ |just\ |really\ )*
        (?:go|get\ going|run|leave|head\ out|step\ away|sign\ off|be\ going|let\ you|talk\ to\ you|keep\ (?:that|you)|tell\ you)\b.*
    |(?:it|that|this|which)\ (?:all\ )?(?:got|gets|makes?|made|has)\ me\ (?:really\ )?(?:thinking|think|curious)\b.*
    |i\ was\ (?:just\ |actually\ |also\ )*(?:thinking|wondering)\ about\ (?!\w+ing\b).*
    |i\ think\ that(?:'s|’s|\ is|\ will\ be)\ (?:all|it)\b.*
    |it(?:'s|’s|\ was|\ has\ been|'s\ been|’s\ been)\ (?:really\ |so\ |very\ )?(?:a\ )?(?:great|nice|good|lovely|pleasure|interesting|fun)\b.*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_LEAD_TO_QUESTION = re.compile(
    r"(?:User|It|That|This|But User|And User|So User)\b[^.,]{0,20}\b(?:thinking about|wondering about|wonders? (?:about|if|how)|"
    r"makes? User (?:wonder|think|curious)|curious about|wondering|have a question|has a question)\b.{0,160}"
)


def is_phatic(text: str) -> bool:
    """Talk about the talk: pleasure at it, leaving it, thanking for it. Left out beside anything better."""
    return _PHATIC.fullmatch(text.strip()) is not None


def leads_to_question(realised: str) -> bool:
    """A statement that only leads to the question after it: "User was thinking about …"."""
    return _LEAD_TO_QUESTION.fullmatch(realised) is not None


def harmless(text: str) -> str:
    """The text with lone surrogates, controls and invisible marks replaced one for one, so that offsets hold."""
    return _UNSAFE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= match[0] <= "\udfff" else " "


def prefix_end(text: str) -> int:
    """Number of leading characters that are discourse prefixes ("Well, ", "Speaking of tea, "); 0 if none."""
    end = 0
    while match := _PREFIX.match(text, end):
        if match.end() == end:
            break
        end = match.end()
    return end


def is_discourse_only(text: str) -> bool:
    """Thanks, greetings, bare evaluations: nothing to remember."""
    if _DISCOURSE_ONLY.fullmatch(text.strip(" .!?,;:-–—…\n\"'")):
        return True
    words = _WORD.findall(text.lower().replace("’", "'"))
    return all(word in DISCOURSE_WORDS or word.removesuffix("'s") in DISCOURSE_WORDS for word in words) and not any(
        character.isdigit() for character in text
    )


def collapse(text: str) -> str:
    """White space as single blanks."""
    return _SPACES.sub(" ", text).strip()
