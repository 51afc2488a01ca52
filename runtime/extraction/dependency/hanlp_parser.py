"""HanLP as parser: the paper's own, through its English multi-task models or a chain of single-task components.

The multi-task models do not split sentences, so that is done first. A document is a dict of lists, one a sentence:
`tok`, `pos`, `lem`, `ner`, and a graph under `sdp/psd` (default), `sdp/dm` or `sdp/pas`, for each token a list of
`[head, label]` with 1-based heads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.parse import Edge, Entity, Parse, Token
from engrain.runtime.extraction.dependency.role_graph import RawEdge, role_edges

DEFAULT_MODEL = "EN_TOK_LEM_POS_NER_SRL_UDEP_SDP_CON_MODERNBERT_BASE"
GRAPHS = ("sdp/psd", "sdp/dm", "sdp/pas")
BATCH = 32
Document = Mapping[str, Any]
Annotate = Callable[[list[str]], Document]
"""From sentences to a document with one list a sentence under each key."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])|\n+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Jr|Sr|vs|etc|e\.g|i\.e|a\.m|p\.m|No|approx|[A-Z])\.$")
_TREEBANK_MARKS = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "...": "…"}


class HanlpParser:
    """HanLP behind the parser interface. `graph` picks the dependency format."""

    def __init__(self, annotate: Annotate, identity: str, graph: str = "sdp/psd") -> None:
        if graph not in GRAPHS:
            raise InputError(f"'{graph}' is not a graph of HanLP's English models; use one of {', '.join(GRAPHS)}")
        self.identity = f"{identity}/{graph}"
        self.label_set = graph
        self._annotate = annotate

    @classmethod
    def load(cls, model: str = DEFAULT_MODEL, graph: str = "sdp/psd", device: int = -1) -> HanlpParser:
        """Load a multi-task model by its name in `hanlp.pretrained.mtl` or by folder; `device` -1 is the CPU.

        Raises `InputError` naming the extra when HanLP is missing, or the model cannot be found or fetched.
        """
        try:
            import hanlp  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise InputError("HanLP is not installed; pip install 'engrain[hanlp]'") from None
        source = getattr(hanlp.pretrained.mtl, model, model)
        try:
            loaded = hanlp.load(source, devices=device)
        except Exception as error:  # HanLP fails in many ways when a model cannot be fetched.
            raise InputError(
                f"HanLP could not load '{model}' ({type(error).__name__}: {error}); "
                "give a folder, or let this machine reach HanLP's file server once"
            ) from error
        tasks = [name for name in ("tok", "pos", "lem", "ner", graph) if name in getattr(loaded, "tasks", {})]

        def annotate(sentences: list[str]) -> Document:
            return loaded(sentences, tasks=[*tasks]) if tasks else loaded(sentences)  # type: ignore[no-any-return]

        return cls(annotate, f"hanlp-{hanlp.__version__}/{model}", graph)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Split into sentences, annotate all of them in batches, and put each text together again."""
        split = [split_sentences(text) for text in texts]
        sentences = [text[start:end] for text, spans in zip(texts, split, strict=True) for start, end in spans]
        columns: dict[str, list[Any]] = {}
        for start in range(0, len(sentences), BATCH):
            document = self._annotate(sentences[start : start + BATCH])
            for key, values in document.items():
                columns.setdefault(key, []).extend(values)
        parses, done = [], 0
        for text, spans in zip(texts, split, strict=True):
            rows = {key: values[done : done + len(spans)] for key, values in columns.items()}
            parses.append(from_document(text, spans, rows, self.label_set))
            done += len(spans)
        return parses


def from_components(
    tokenize: Callable[[str], list[str]], tag: Callable[[list[str]], list[str]], graph: Any
) -> Annotate:
    """An annotator from single-task parts: a tokenizer, a tagger, and a HanLP semantic dependency parser.

    Lemmas are the lower-cased words; there are no entities.
    """

    def annotate(sentences: list[str]) -> Document:
        tokens = [tokenize(sentence) for sentence in sentences]
        tags = [tag(words) for words in tokens]
        inputs = [
            list(zip(words, marks, strict=True)) if graph.use_pos else words
            for words, marks in zip(tokens, tags, strict=True)
        ]
        trees = graph.predict(inputs) if inputs else []
        heads = [[[(int(h), str(label)) for h, label in word.deps or []] for word in tree] for tree in trees]
        lemmas = [[word.lower() for word in words] for words in tokens]
        return {"tok": tokens, "pos": tags, "lem": lemmas, "ner": [[] for _ in tokens], "sdp": heads}

    return annotate


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Character ranges of the sentences, without the white space around them."""
    spans, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if "\n" not in match[0] and _ABBREVIATION.search(text[start : match.start()]):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    trimmed = []
    for begin, end in spans:
        piece = text[begin:end]
        left = len(piece) - len(piece.lstrip())
        if piece.strip():
            trimmed.append((begin + left, begin + len(piece.rstrip())))
    return trimmed


def from_document(text: str, spans: Sequence[tuple[int, int]], document: Document, label_set: str) -> Parse:
    """A `Parse` from HanLP's document over the sentences `spans` of `text`.

    Raises `InputError` when the document's tokens do not spell the text: then offsets cannot be given.
    """
    tokens: list[Token] = []
    entities: list[Entity] = []
    edges: list[Edge] = []
    sentences: list[tuple[int, int]] = []
    graphs = document.get(label_set, document.get("sdp"))
    if graphs is None:
        raise InputError(f"the HanLP model gives no {label_set}; it gives {', '.join(sorted(document))}")
    for number, (start, end) in enumerate(spans):
        words = document["tok"][number]
        tags = document["pos"][number]
        lemmas = document["lem"][number] if "lem" in document else words
        base = len(tokens)
        own = _aligned(text, start, end, words, tags, lemmas)
        named = [Entity(int(e[2]), int(e[3]), str(e[1])) for e in document.get("ner", [[]] * len(spans))[number]]
        kinds = {index: one.label for one in named for index in range(one.start, one.end)}
        raw = [
            RawEdge(int(head) - 1, dependent, str(label))
            for dependent, heads in enumerate(graphs[number])
            for head, label in heads
        ]
        edges += [
            Edge(edge.head + base, edge.dependent + base, edge.label, edge.role)
            for edge in role_edges(own, kinds, raw, label_set)
        ]
        entities += [Entity(one.start + base, one.end + base, one.label) for one in named]
        tokens += own
        if own:
            sentences.append((base, len(tokens)))
    return Parse(text, tokens, entities, edges, sentences, label_set)


def _aligned(
    text: str, start: int, end: int, words: Sequence[str], tags: Sequence[str], lemmas: Sequence[str]
) -> list[Token]:
    """Tokens with their offsets; treebank spellings of quotes and brackets are met as the source has them."""
    found, at = [], start
    for word, tag, lemma in zip(words, tags, lemmas, strict=True):
        place = text.find(word, at, end)
        if place < 0 or text[at:place].strip():
            plain = _TREEBANK_MARKS.get(word, word)
            place = text.find(plain, at, end)
            word = plain
        if place < 0 or text[at:place].strip():
            raise InputError(f"HanLP's token '{word}' is not where the text has '{text[at : at + 20]}'")
        at = place + len(word)
        found.append(Token(word, word.lower(), str(lemma).lower(), str(tag), place, at))
    return found
