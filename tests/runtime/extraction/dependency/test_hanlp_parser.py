"""HanLP behind the parser interface: sentences, alignment, and a real tiny parser that drives the whole extractor."""

from __future__ import annotations

from pathlib import Path

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.extraction.dependency.hanlp_parser import (
    HanlpParser,
    from_components,
    from_document,
    split_sentences,
)
from engrain.runtime.extraction.dependency.parse import Role

# Our own sentences as (word, tag, [(head, label), …]), heads 1-based, 0 the root.
GRAPHS = [
    [("I", "PRP", [(2, "ACT-arg"), (4, "ACT-arg")]), ("want", "VBP", [(0, "root")]), ("to", "TO", []),
     ("learn", "VB", [(2, "PAT-arg")]), ("Welsh", "NNP", [(4, "PAT-arg")])],
    [("I", "PRP", [(3, "ACT-arg")]), ("never", "RB", [(3, "RHEM")]), ("drink", "VBP", [(0, "root")]),
     ("coffee", "NN", [(3, "PAT-arg")])],
    [("My", "PRP$", [(2, "APP")]), ("sister", "NN", [(3, "ACT-arg")]), ("sold", "VBD", [(0, "root")]),
     ("boats", "NNS", [(3, "PAT-arg")])],
    [("We", "PRP", [(2, "ACT-arg")]), ("moved", "VBD", [(0, "root")]), ("to", "TO", []),
     ("Porto", "NNP", [(2, "DIR3")])],
    [("I", "PRP", [(2, "ACT-arg")]), ("bake", "VBP", [(0, "root")]), ("bread", "NN", [(2, "PAT-arg")])],
]  # fmt: skip
TAGS = {word: tag for graph in GRAPHS for word, tag, _ in graph}


def test_sentences_are_split_at_marks_but_not_at_abbreviations() -> None:
    text = "I saw Dr. Bell. She helped!  It hurts\nno more"
    assert [text[start:end] for start, end in split_sentences(text)] == [
        "I saw Dr. Bell.",
        "She helped!",
        "It hurts",
        "no more",
    ]


def test_treebank_quotes_find_their_place_and_offsets_hold() -> None:
    text = 'I like "Dune" ('
    document = {
        "tok": [["I", "like", "``", "Dune", "''", "-LRB-"]],
        "pos": [["PRP", "VBP", "``", "NNP", "''", "-LRB-"]],
        "ner": [[["Dune", "WORK_OF_ART", 3, 4]]],
        "sdp/psd": [[[[2, "ACT-arg"]], [[0, "root"]], [], [[2, "PAT-arg"]], [], []]],
    }
    parse = from_document(text, [(0, len(text))], document, "sdp/psd")
    assert all(text[token.start : token.end] == token.text for token in parse.tokens)
    assert [(edge.head, edge.dependent, edge.role) for edge in parse.edges] == [
        (1, 0, Role.ACTOR),
        (1, 3, Role.PATIENT),
    ]


def test_tokens_that_do_not_spell_the_text_are_refused() -> None:
    document = {"tok": [["You"]], "pos": [["PRP"]], "sdp/psd": [[[]]]}
    with pytest.raises(InputError, match="not where the text has"):
        from_document("I", [(0, 1)], document, "sdp/psd")


def test_an_unknown_graph_is_refused() -> None:
    with pytest.raises(InputError, match="sdp/psd"):
        HanlpParser(lambda sentences: {}, "none", "sdp")


def test_a_real_parser_trained_here_drives_the_extractor(tmp_path: Path) -> None:
    pytest.importorskip("hanlp")
    import torch
    from hanlp.components.parsers.biaffine.biaffine_sdp import (  # type: ignore[import-untyped,unused-ignore]
        BiaffineSemanticDependencyParser,
    )

    torch.manual_seed(1)
    corpus = tmp_path / "train.conllu"
    corpus.write_text("\n\n".join(map(_conllu, GRAPHS)) + "\n\n", encoding="utf-8")
    parser = BiaffineSemanticDependencyParser()
    parser.fit(
        str(corpus), str(corpus), str(tmp_path / "model"),
        feat="pos", n_embed=24, n_lstm_hidden=24, n_lstm_layers=1, n_mlp_arc=24, n_mlp_rel=24, min_freq=1,
        batch_size=64, epochs=60, lr=0.02, word_dropout=0.0, embed_dropout=0.0, hidden_dropout=0.0, mlp_dropout=0.0,
        patience=60, devices=-1, verbose=False,
    )  # fmt: skip
    import hanlp  # type: ignore[import-untyped,unused-ignore]

    loaded = hanlp.load(str(tmp_path / "model"), devices=-1)
    annotate = from_components(str.split, lambda words: [TAGS.get(word, "NN") for word in words], loaded)
    extractor = DependencyExtractor(HanlpParser(annotate, "tiny"))
    entries = [analysis.entry for analysis in extractor.analyse([" ".join(w for w, _, _ in g) for g in GRAPHS])]
    assert entries == [
        "User wants to learn Welsh.",
        "User never drinks coffee.",
        "User's sister sold boats.",
        "User moved to Porto.",
        "User bakes bread.",
    ]
    assert extractor.identity.endswith("tiny/sdp/psd")


def _conllu(graph: list[tuple[str, str, list[tuple[int, str]]]]) -> str:
    return "\n".join(
        "\t".join([str(number), word, word.lower(), tag, tag, "_", str(heads[0][0] if heads else 0),
                   heads[0][1] if heads else "_", "|".join(f"{head}:{label}" for head, label in heads) or "_", "_"])
        for number, (word, tag, heads) in enumerate(graph, start=1)
    )  # fmt: skip
