"""Text to index terms, the same for records, turns and queries.

NFKC and case folding, word tokens, contractions opened (so that "didn't" keeps its "not"), English stop words
dropped but never negations, Snowball stemming for Latin script, overlapping character pairs for scripts that are
written without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import snowballstemmer

from engrain.runtime.retrieval.stopwords import STOP_WORDS

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7a3"  # Korean
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
# Marks that belong to the letter before them; Python's \w leaves them out and would cut Hindi or Arabic words.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_TOKEN = re.compile(rf"(?P<run>[{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+(?:'[^\W_{_UNSPACED}]+)*")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'"})
_IRREGULAR = {"can't": "can", "won't": "will", "shan't": "shall", "ain't": "is"}
_STEMMER = snowballstemmer.stemmer("english")
_LONGEST_WORD = 64
"""Characters. A longer 'word' is a hash, a key or a link; its head identifies it."""


def index_terms(text: str) -> list[str]:
    """The terms of a text in order, repeats kept. A text of stop words only keeps them, so that it stays findable."""
    words = _words(text)
    kept = [word for word in words if word not in STOP_WORDS]
    return [_stem(word) for word in (kept or words)]


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ascii_words(text)
    words: list[str] = []
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    for match in _TOKEN.finditer(folded):
        token = match.group()
        if match.group("run"):
            words.extend(_pairs(token))
        elif "'" in token:
            words.extend(_open_contraction(token))
        else:
            words.append(token[:_LONGEST_WORD])
    return words


def _ascii_words(text: str) -> list[str]:
    """The same for plain ASCII, three times as fast."""
    words = _ASCII_TOKEN.findall(text.lower())
    if "'" in text:
        parts = (_open_contraction(word) if "'" in word else [word] for word in words)
        words = [part for opened in parts for part in opened]
    return [word[:_LONGEST_WORD] for word in words]


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _open_contraction(token: str) -> list[str]:
    """ "didn't" is "did", "not"; "Ana's" is "ana"; "o'clock" stays whole."""
    if token.endswith("n't"):
        return [_IRREGULAR.get(token, token[:-3])[:_LONGEST_WORD], "not"]
    head, _, tail = token.rpartition("'")
    if tail in {"s", "re", "ve", "ll", "d", "m"}:
        return [head[:_LONGEST_WORD]]
    return [token[:_LONGEST_WORD]]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """Snowball's English stemmer for Latin script; other scripts pass unchanged."""
    if not word[0].isascii() and not "\u00c0" <= word[0] <= "\u024f":
        return word
    return str(_STEMMER.stemWord(word))
