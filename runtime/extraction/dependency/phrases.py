"""Fixed phrases of conversation, as data: alternatives of regular expressions, joined where they are used.

SLICE-Mem A.3 removes "discourse prefixes" and rejects "discourse-only fragments" without printing its lists.
"""

from __future__ import annotations

from engrain.runtime.extraction.dependency.lexicons import EVALUATIVE


def any_of(*phrases: str) -> str:
    """One group that matches any of the alternatives."""
    return "(?:" + "|".join(phrases) + ")"


OPENERS = any_of(
    "oh|ah+|aha|h+m+|um+|uh+|er|well|so|yeah|yes|yep|yup|no|nope|nah|ok|okay|alright|all right|sure|great|perfect",
    "excellent|awesome|amazing|fantastic|wonderful|cool|nice|wow|ha(?:ha)*|lol|hey|hi|hello|greetings|dear|thanks?",
    "thank you|thx|cheers|please note|anyways?|actually|honestly|frankly|basically|seriously|btw|by the way|like",
    "you know|i mean|right|absolutely|definitely|exactly|totally|certainly|indeed|true|agreed|of course|sorry",
    "i (?:have to|must|gotta|will|would) (?:say|admit)|let me (?:see|think|tell you)|apologies|my bad|tbh|fyi",
    "to be honest|for what it['’]?s worth|in fact|as a matter of fact|speaking of which|funny enough|first of all",
    "on (?:an|a|that|this) (?:(?:other|another|different|side|related|similar|lighter|happier) )?note|got it|i see",
    "interestingly(?: enough)?|good (?:morning|afternoon|evening|point|question)|now|also|plus|and|look|listen",
    "guess what|ooh+|yay|wh?oah?|woah|aw+|omg|phew|ugh|gosh|man|dude|understood|fair enough|makes sense",
    "excuse me|pardon(?: me)?",
    "that['’]?s (?:right|true|fair|great|good|correct)|sounds (?:good|great)|in that case|come to think of it",
)
"""Openers that carry no content when a comma, dash or sentence mark follows."""

BARE_OPENERS = any_of(
    "oh|ah+|h+m+|um+|uh+|well|so|yeah|yep|yup|ok|okay|lol|ha(?:ha)+|hey|hi|hello|and|anyways?|plus|wow|btw"
)
"""Openers that are dropped without punctuation after them."""

VOCATIVE = "(?: (?:there|again|everyone|all|guys|so much|very much|a lot|yeah|yes|no|then|[A-Z][a-z]+))?"
"""What may stand between an opener and its comma."""

TOPICS = any_of(
    r"(?:speaking|talking|thinking) (?:of|about) [^.!?;]{1,160}?[,;] ?",
    r"(?:that|this|it|which)(?: all)?(?: (?:actually|really|kind of|also))? (?:makes?|made|got|has|gets) me"
    r"(?: (?:think|thinking|wonder|wondering))? (?:of|about) [^.!?;]{1,160}?[,;] ?",
    r"(?:that|this|it|which)(?: (?:actually|really|kind of|also))? reminds? me"
    r"(?: (?:a lot )?of [^.!?;,]{1,100})?[,;] ?",
    r"on the (?:topic|subject|note) of [^.!?;,]{1,80}[,;] ?",
    r"(?:that|this|it) (?:makes?|made|got) me (?:think|wonder)[,;] ?",
    r"[^.!?;:]{1,160}?[,;] (?:and )?(?:which|that|it|this)(?: (?:actually|really|kind of|also))? reminds? me"
    r"(?: of)?[,;:—–-]* (?=(?:that |how )?(?:i|we|my)\b)(?:that )?",
    r"(?:(?:i guess|i think|i suppose) )?(?:it['’]s|it is|that['’]s|kind of|sort of|sounds)"
    r"(?: (?:a bit|a little|kind of|sort of|almost|just|really|so|very|actually))*"
    r" (?:like|similar to) how (?=(?:i|we)\b)",
)
"""Lead-ins that only name what the talk was about."""

CLAUSE_STARTS = any_of(
    "i|we|my|our|the|a|an|it|he|she|they|you|there|this|that|did|do|does|have|has|is|are|can|could|what|how|who|when",
    "where|why|would|will|if",
)
"""Words that begin the clause after a lead-in."""

_EVALUATION = any_of(*sorted(EVALUATIVE))
_DEGREE = r"(?:(?:\w+ly|so|very|quite|pretty|such|just|a|an|all|like|super|always|to hear|the|lot|of|some) )*"
_OF_WHAT = any_of(
    "one|ideas?|points?|questions?|news|to hear(?: (?:that|it))?|to know|stuff|way|thought|perspective|distinction",
    "explanation|example|fact|observation|to me|of you|job|work|plan|indeed|too|thing|advice|suggestions?|insight",
    "to think about|to consider|analogy|of you to say|development",
)

DISCOURSE_ONLY = any_of(
    r"(?:(?:that|this|it|those|these|which|what)\s?(?:all )?"
    r"(?:['’]s|is|was|are|sounds?|seems?|looks?|makes?|would be|must be|really is)|sounds?|what|how) "
    rf"{_DEGREE}(?:{_EVALUATION}|sense|relief|news|deal)\b(?: (?:and|,)? ?(?:\w+ly )?{_EVALUATION}\b)*(?: {_OF_WHAT})*",
    r"thank(?:s| you)\b.{0,60}",
    r"(?:i )?appreciate (?:it|that|this|you|your)\b.{0,40}",
    r"how (?:are|r) (?:you|u|things)(?: (?:doing|going))?(?: (?:today|lately|these days))?",
    r"how['’]?s it going|what['’]?s (?:up|new)(?: with you)?|how have you been",
    r"(?:it['’]?s )?(?:nice|good|great|lovely) to (?:meet|see|hear|talk|chat|catch)\b.{0,40}",
    r"(?:see|talk to|catch) (?:you|ya|u)(?: (?:later|soon|around|then))?",
    r"have a (?:great|good|nice|lovely|wonderful) (?:day|one|night|weekend|evening|time)",
    r"you['’]?re welcome|no (?:problem|worries)|got it|i (?:see|understand|agree)|good luck.{0,20}|take care",
    r"i['’]?m (?:doing )?(?:very |really |pretty |quite )?(?:well|good|fine|great|okay|ok)\b"
    r"(?:,? (?:too|as well|thanks?.{0,25}|today))*",
    r"(?:my )?day (?:is|has been) (?:going )?(?:well|good|great|fine)\b.{0,20}",
    r"that['’]?s (?:all|it)(?: i (?:need|have))?(?: for (?:now|today))?",
    r"(?:what|how) about you|and you|you too|me too|same here|fingers crossed|let me know",
    r"i hope (?:you['’]?re|you are) (?:doing )?(?:well|good|ok|okay)(?: today)?",
    r"i['’]?m (?:so |really |very )?(?:glad|happy|sorry) to hear (?:that|it)",
)
"""Whole clauses that say nothing to remember: thanks, greetings, bare evaluations."""

PHATIC = any_of(
    r"i ?(?:['’]m|am|['’]ve|have|was)? (?:so |really |very |just |actually |truly )*(?:glad|happy to|pleased|sorry|"
    r"enjoyed|enjoying|appreciate|look(?:ing)? forward|hope (?:you|we)|thank|wish you)\b.*",
    r"i (?:actually |really |think |should |probably |guess |just |['’]d |will )*"
    r"(?:need to|have to|should|must|better|got to|['’]ll|will) (?:probably |actually |just |really )*"
    r"(?:go|get going|run|leave|head out|step away|sign off|be going|let you|talk to you|"
    r"keep (?:that|you)|tell you)\b.*",
    r"(?:user noted: )?(?:that|those|this|these)(?:['’]s|['’]re| is| are| was| were| sounds?| seems?)(?: like)?"
    r"(?: (?:a|an|some|such|the|so|very|quite|pretty|really|truly|indeed|both|all|definitely)){0,3}"
    rf"(?: \w+ly)?(?: {_EVALUATION}(?:,? and {_EVALUATION})?)+ (?:way|point|perspective|choice|question|example|idea|"
    r"number|statistic|image|tradition|thought|observation|summary|explanation|distinction|comparison|analogy|insight|"
    r"difference|connection|concept|approach|strateg(?:y|ie)|application|challenge|option|tip|suggestion)s?\b[^,;]*",
    r"(?:it|that|this|which) (?:all )?(?:got|gets|makes?|made|has) me (?:really )?(?:thinking|think|curious)\b.*",
    r"i was (?:just |actually |also )*(?:thinking|wondering) about (?!\w+ing\b).*",
    r"i think that(?:['’]s| is| will be) (?:all|it)\b.*",
    r"it(?:['’]s been|['’]s| was| has been) (?:really |so |very )?(?:a )?"
    r"(?:great|nice|good|lovely|pleasure|interesting|fun)\b.*",
)
"""Talk about the talk, which gives way to any better unit of its turn."""

LEADS_TO_QUESTION = (
    r"(?:(?:But |And |So )?User|It|That|This)\b[^.,]{0,20}\b"
    r"(?:thinking about|wondering about|wonders? (?:about|if|how)|makes? User (?:wonder|think|curious)|curious about|"
    r"wondering|have a question|has a question)\b.{0,160}"
)
"""A realised statement that only leads to the question after it."""
