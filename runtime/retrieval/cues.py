"""Wordings that tell what a question wants besides facts about the user: the past of a state, or the assistant's words.

Both are lexical patterns over the question alone. The history cue is SLICE-Mem's (A.4, historical retrieval); the
assistant cue stands for DimMem's `need_assistant_context` (section 3.3), which its authors leave to a model.
"""

from __future__ import annotations

import re

_UNITS = r"(?:seconds?|minutes?|hours?|nights?|days?|weeks?|weekends?|months?|years?|decades?)"

HISTORY = re.compile(
    rf"""
    \bwhen(?:ever)?\b | \bwhat\ (?:time|date|day|week|month|year|season)\b
  | \b(?:which|on\ what|in\ what)\ (?:date|day|week|month|year|season)\b
  | \bhow\ (?:long|recently|often|soon|old)\b | \b{_UNITS}\ (?:ago|earlier|later)\b
  | \bhow\ many\ {_UNITS}\b.{{0,80}}\b(?:pass(?:ed)?|between|elapsed?|separat\w+|after|before|since|until|apart)\b
  | \b(?:since|until|till|before|after(?:wards?)?|prior|previous(?:ly)?|former(?:ly)?|earlier|originally|initially)\b
  | \b(?:used?\ to|at\ first|back\ then|in\ the\ past|once\ (?:was|were|had)|ever\ since|ex)\b
  | \b(?:current(?:ly)?|at\ (?:present|the\ moment)|(?:right\ |by\ )now|now(?:adays)?|these\ days|present(?:ly)?)\b
  | \b(?:still|yet|already|no\ longer|(?:not\ )?any\ ?more|any\ longer|up[- ]to[- ]date|latest|
    (?:most\ )?recent(?:ly)?)\b
  | \b(?:chang(?:e[ds]?|ing)|switch(?:ed|ing)?|replac(?:e[ds]?|ing)|updat(?:e[ds]?|ing)|revis(?:ed?|ing)|
      evol(?:ve[ds]?|ving)|differ(?:s|ed|ent\ (?:from|than)|ently)?|turn(?:ed)?\ into|bec(?:a|o)me)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""SLICE-Mem A.4: wordings of time or change; it names when, previously, used to, how long, currently and changed."""


def _spaced(words: str) -> str:
    """A table of words for a verbose pattern, which would drop its spaces."""
    return words.replace(" ", r"\ ")


_YOU = r"(?:you|u|ya)"
_ASSISTANT = r"(?:the\ (?:assistant|ai|bot|chatbot)(?!\ (?:at|from|of|in)\b)|chatgpt|claude|gemini)"
_NOT_TOLD = "".join(
    rf"(?<!\b{verb}\ )"
    for verb in ["tell", "told", "give", "gave", "show", "showed", "ask", "asked", "send", "sent", "to", "with"]
)
"""Where "you" is who was told: "the book I gave you called ..."."""
_SAYING = (
    r"(?:sa(?:id|y)|t(?:old|ell)|mention(?:ed)?|expla?in(?:ed)?|warn(?:ed)?|g[ai]ve|given|advis(?:ed?)|point(?:ed)?|"
    r"rec+om+end(?:ed)?|sug+est(?:ed)?|propos(?:ed?)|offer(?:ed)?|cit(?:ed?)|quot(?:ed?)|describ(?:ed?)|call(?:ed)?|"
    r"list(?:ed)?|rank(?:ed)?|nam(?:ed?)|pick(?:ed)?|outlin(?:ed?)|summari[sz](?:ed?)|br(?:ing|ought) up|"
    r"com(?:e|pare|pared)|came|ma[dk]e|wr(?:ote|ite|itten)|draft(?:ed)?|compos(?:ed?)|creat(?:ed?)|generat(?:ed?)|"
    r"buil[dt]|design(?:ed)?|put together|translat(?:ed?)|calculat(?:ed?)|estimat(?:ed?)|comput(?:ed?)|work(?:ed)? out|"
    r"figur(?:ed?) out|show(?:n|ed)?|teach|taught|answer(?:ed)?|repl(?:y|ied)|shar(?:ed?)|provid(?:ed?)|found|find|"
    r"refer(?:red)?|discuss(?:ed)?|talk(?:ed)?(?: me)?|walk(?:ed)? me|help(?:ed)?|plan(?:ned)?|highlight(?:ed)?|"
    r"cho(?:se|ose)|rat(?:ed?)|identif(?:y|ied)|clarif(?:y|ied)|not(?:ed?)|stat(?:ed?)|predict(?:ed)?|"
    r"correct(?:ed)?|rewr(?:ote|ite|itten)|edit(?:ed)?|proofread|convert(?:ed)?|cod(?:ed?)|sent|spell(?:ed|t)?|"
    r"cover(?:ed)?|defin(?:ed?)|rephras(?:ed?)|includ(?:ed?)|prescrib(?:ed?)|us(?:ed?)|assign(?:ed)?|set|invent(?:ed)?)"
)
_PAST_SAYING = (
    r"(?:said|told|mentioned|expla?ined|warned|gave|given|advised|pointed|rec+om+ended|recomm?ended|sug+ested|"
    r"proposed|offered|cited|quoted|described|called|listed|ranked|named|picked|outlined|summari[sz]ed|brought up|"
    r"came up|compared|made|wrote|written|drafted|composed|created|generated|built|designed|put|translated|"
    r"calculated|estimated|computed|worked out|figured out|showed|shown|taught|answered|replied|shared|provided|found|"
    r"referred|discussed|talked|walked|helped|planned|highlighted|chose|rated|identified|clarified|noted|stated|"
    r"predicted|corrected|rewrote|rewritten|edited|converted|coded|sent|spelled|spelt|covered|defined|rephrased|"
    r"included|prescribed|used|assigned|set|invented|swore|promised|claimed|thought|chose|were (?:telling|saying|"
    r"talking|explaining|describing|recommending|suggesting|on about)|was on about|were going on)"
)
_ARTEFACT = (
    r"(?:tip|idea|suggestion|recommendation|advice|list|summary|answer|reply|response|explanation|plan|outline|recipe|"
    r"draft|poem|story|tale|song|essay|letter|email|e-mail|message|translation|estimate|calculation|comparison|"
    r"itinerary|schedule|routine|workout|program(?:me)?|table|ranking|example|option|choice|pick|point|step|argument|"
    r"description|analysis|review|code|script|function|formula|joke|riddle|quiz|definition|instruction|guide|"
    r"checklist|proposal|version|paragraph|sentence|slogan|title|name|exercise)s?"
)
_PLACE_IN_LIST = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final|top|\d+(?:st|nd|rd|th)?|"
    r"previous|earlier|original|initial|other|next)"
)
_TALK = r"(?:conversations?|chats?|discussions?|sessions?|exchanges?|dialogues?|talks?)"
_WITH_OTHERS = r"(?!\ (?:\w+\ ){0,3}?with\ (?!you\b|u\b))"
_PAST_TALK = rf"""
    \b(?:our|this)\ (?:(?:last|previous|prior|earlier|past|recent|long|first|other|old)\ )*{_TALK}\b{_WITH_OTHERS}
  | \b(?<!my\ )(?:last|previous|prior|earlier|past)\ (?:conversation|chat|discussion)s?\b{_WITH_OTHERS}
  | \b{_TALK}\ (?:(?:that\ )?(?:we|I)\ had\ )?with\ (?:you|u)\b | \b{_TALK}\ (?:that\ )?we(?:\ had|'ve\ had)\b
  | \b(?:yesterday|week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday|morning|night)'s\ {_TALK}\b
  | \bwe(?:'d|'ve|\ had|\ have)?\ (?:(?:once|also|just|previously|already|last)\ )?
      (?:talked|spoke|chatted|discussed|went\ over|gone\ over|brainstormed|left\ off|were\ (?:talking|
        discussing|chatting))\b
"""
_MADE_HERE = rf"""
    \b(?:answer|reply|response|advice|recommendation|suggestion|explanation)s?\ (?:that\ )?I\ (?:got|received|
      was\ given)\b
      (?!.{{0,20}}\bfrom\ (?:my|the|a|an|our|his|her)\b)
  | \bthe\ (?:\w+\ ){{0,2}}{_ARTEFACT}\ (?:\w+\ ){{0,4}}?from\ (?:yesterday|earlier|before|the\ other\ day|
      last\ (?:time|week|month|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b
"""

_RECALLED = re.compile(
    rf"""
    {_NOT_TOLD}\b{_YOU}(?:'(?:d|ve)|\ had|\ have)?[ ]
      (?:(?:once|also|already|previously|earlier|just|then|even|first|originally|specifically|initially|kindly)\ )*
      {_spaced(_PAST_SAYING)}\b
  | \b(?:did|had|have|didn't|hadn't|haven't)\ {_YOU}\ (?:(?:ever|already|also|actually|originally|
    just)\ )*{_spaced(_SAYING)}\b
  | \b(?:remember|recall)\ {_YOU}r?\ \w+ing\b | \baccording\ to\ {_YOU}\b | \bdid\ {_YOU}\ think\b
  | ^\W*(?:your|ur)\ {_ARTEFACT}\b
  | \b{_ARTEFACT}\ (?:\w+\ ){{0,8}}?we\ (?:put\ together|came\ up\ with|worked\ out|wrote|drafted|made)\b
  | \b(?:your|ur)\ (?:{_PLACE_IN_LIST}\ )+(?:\w+\ ){{0,2}}?{_ARTEFACT}\b
  | \b(?:your|ur)\ (?:earlier|previous|last|original|old)\ \w+
  | \b(?:in|from|on|of|per|to|with|about|by|was|were|remember|recall)\ (?:your|ur)\ (?:\w+\ ){{0,2}}?{_ARTEFACT}\b
  | \b(?:said|told|mentioned|rec+om+ended|sug+ested|written|made|drafted|given|listed|proposed)\ by\ (?:you|
    {_ASSISTANT})\b
  | \b{_ASSISTANT}\ {_spaced(_PAST_SAYING)}\b | \b{_ASSISTANT}'s\ (?:\w+\ )?{_ARTEFACT}\b
  | \b(?:did|had|has)\ {_ASSISTANT}\ {_spaced(_SAYING)}\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOOKING_BACK = re.compile(_PAST_TALK + "|" + _MADE_HERE, re.IGNORECASE | re.VERBOSE)
_OWN_WORDS = re.compile(
    r"""
    \bI(?:'(?:d|ve)|\ had|\ have)?\ (?:(?:ever|once|also|already|just|even|briefly|first)\ )*
      (?:said|told|mentioned|explained|described|shared|listed|gave|asked\ you\ to|brought\ up|complained|
         talked\ (?:to\ you\ )?about|recommended|suggested|wrote|sent|showed|admitted|confessed)\b
  | \b(?:did|have|had)\ I\ (?:(?:ever|already|also|just|even)\ )*
      (?:say|said|tell|told|mention(?:ed)?|explain(?:ed)?|describe[d]?|share[d]?|list(?:ed)?|give[n]?|
        recommend(?:ed)?|
         suggest(?:ed)?|write|written|send|sent|show[n]?|bring\ up|brought\ up|ask(?:ed)?)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def wants_history(question: str) -> bool:
    """Whether a question asks about time or change (SLICE-Mem A.4). A count alone ("how many bikes") does not."""
    return HISTORY.search(question) is not None


def needs_assistant(question: str) -> bool:
    """Whether the answer is something the assistant said, recommended, listed or made in an earlier conversation.

    A past act of the one addressed is enough. A mere look back at a conversation is enough unless the question
    recalls what the user said there. Requests ("can you recommend ...") are about now.
    """
    text = " ".join(question.replace("\u2019", "'").split())
    if _RECALLED.search(text):
        return True
    return _LOOKING_BACK.search(text) is not None and _OWN_WORDS.search(text) is None
