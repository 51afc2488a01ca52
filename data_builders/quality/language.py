"""The language of a short text, by its script, and among Latin-script languages by their most frequent words.

Good enough to notice that a corpus is not in the language that one thinks; a text that gives no evidence is `unknown`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

UNKNOWN = "unknown"

_SCRIPTS: tuple[tuple[str, str], ...] = (
    # Kana before Han: Japanese text holds both.
    ("ja", "\u3040-\u30ff"),
    ("ko", "\uac00-\ud7af\u1100-\u11ff"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("th", "\u0e00-\u0e7f"),
    ("hi", "\u0900-\u097f"),
    ("ar", "\u0600-\u06ff"),
    ("he", "\u0590-\u05ff"),
    ("el", "\u0370-\u03ff"),
    ("ru", "\u0400-\u04ff"),
)
_IN_SCRIPT = tuple((language, re.compile(f"[{ranges}]")) for language, ranges in _SCRIPTS)
_SHARE = 0.2
"""Share of a text's letters in a script that decides; a quoted foreign word does not."""

_FREQUENT: Mapping[str, str] = {
    "en": "the a an and of to in is are was i i'm i've my me you your it it's that this for with on not don't have do "
    "what how can be at so we but they he she from about if just will would as or could please thanks yes hello hi no "
    "any some there which when who good great sure okay ok",
    "de": "der die das und ist ich nicht ein eine zu mit den von auf für im dem mein meine wir sie es auch kein wie "
    "was bin habe aber dass bitte danke ja nein",
    "fr": "le la les des et est je ne pas un une de du pour dans que qui mon ma mes nous vous il elle avec sur ce "
    "c'est j'ai oui merci bonjour",
    "es": "el la los las de y es yo no un una que en mi para con por se lo como me qué pero muy gracias sí hola estoy",
    "it": "il lo la gli di e è io non un una che in mi per con sono ho come ma questo della grazie ciao anche",
    "pt": "o a os as de e é eu não um uma que em meu minha para com por se como mas obrigado sim estou você",
    "nl": "de het een en is ik niet van op met voor dat die mijn je wij zijn maar ook naar geen bedankt ja",
    "pl": "nie jest się że jak mam ale czy tak jestem dla dziękuję mój moja mnie",
    "tr": "bir ve bu ben de da için ne çok var değil ile benim evet ama gibi",
    "vi": "là của và tôi không có một cho với được bạn trong này đã",
}
_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _list in _FREQUENT.items():
    for _word in _list.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def language_of(text: str) -> str:
    """ISO 639-1 code of a text, or `unknown`."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for language, pattern in _IN_SCRIPT:
            if letters and len(pattern.findall(text)) >= _SHARE * letters:
                return language
    votes: Counter[str] = Counter()
    for word in _WORDS.findall(text):
        languages = _LANGUAGES_OF.get(word, ())
        for language in languages:
            # A word of one language says more than one that several share.
            votes[language] += 1 + (len(languages) == 1)
    if not votes:
        return UNKNOWN
    (best, most), *others = votes.most_common(2)
    return UNKNOWN if others and others[0][1] == most else best
