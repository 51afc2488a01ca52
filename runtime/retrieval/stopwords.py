"""English function words that carry no content of their own.

Negations (no, not, never, none, nor, without, nobody, nothing) are absent on purpose: a stop list that holds them
erases polarity, and "does not eat meat" becomes "eats meat".
"""

from __future__ import annotations

_ARTICLES = "a an the this that these those such"
_PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself they them their theirs themselves one ones someone something"
)
_AUXILIARIES = (
    "am is are was were be been being do does did doing done have has had having will would shall should can could "
    "may might must let get got"
)
_PREPOSITIONS = (
    "about as at by for from in into of off on onto out over per than through to toward towards up upon via with"
)
_CONJUNCTIONS = "and but or if because so then while though although whether"
_QUESTION_WORDS = "what which who whom whose when where why how"
_FILLERS = (
    "also just really very too much many some any all both each few more most other own same again here there now "
    "still yes yeah yep ok okay oh hey hi hello wow thanks thank please well like"
)

STOP_WORDS = frozenset(
    " ".join((_ARTICLES, _PRONOUNS, _AUXILIARIES, _PREPOSITIONS, _CONJUNCTIONS, _QUESTION_WORDS, _FILLERS)).split()
)
