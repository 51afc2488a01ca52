"""Constrained decoding: at every step only the tokens that some valid answer can go on with.

For each state of the answer's automaton (`grammar.py`) the whole vocabulary is looked through once, as a tree of
bytes, and the result is kept: for each token, how many bytes the shortest ending needs behind it. A token is allowed
when that many tokens are left of the budget, since every byte is a token too: the answer is always complete JSON.

No library is used. outlines and xgrammar constrain as well, but the first cannot be told to close in time, the second
brings a gigabyte, and a schema without recursion needs neither.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.grammar import Automaton, State, compile_answer

_REFUSED = 1 << 20
SHORTEST_ANSWER = 16
"""Tokens that `{"memories":[]}` and eos need at most, a byte each."""


class AnswerMasks:
    """Which tokens may follow, for one tokenizer. Masks are made once a state and shared by all answers."""

    def __init__(self, tokenizer: Any) -> None:
        self.size = len(tokenizer)
        self.eos = int(tokenizer.eos_token_id)
        self.automaton: Automaton = _answer_automaton()
        self.tokens = token_bytes(tokenizer)
        self._tree = _tree(self.tokens)
        self._needs: dict[State, NDArray[np.int32]] = {}

    def needs(self, state: State) -> NDArray[np.int32]:
        """For each token, tokens that the answer still needs behind it, eos included; huge when it may not follow."""
        found = self._needs.get(state)
        if found is None:
            found = self._needs[state] = self._look_through(state)
        return found

    def advance(self, state: State, token: int) -> State:
        """The state behind a token."""
        for byte in self.tokens[token]:
            state = self.automaton.step(state, byte)
        return state

    def _look_through(self, state: State) -> NDArray[np.int32]:
        needs = np.full(self.size, _REFUSED, dtype=np.int32)
        stack: list[tuple[_Node, State]] = [(self._tree, state)]
        while stack:
            node, reached = stack.pop()
            if node.tokens:
                needs[node.tokens] = self.automaton.bytes_to_end(reached) + 1
            for byte, below in node.below.items():
                after = self.automaton.step(reached, byte)
                if after:
                    stack.append((below, after))
        if self.automaton.accepts(state):
            needs[self.eos] = 0
        return needs


class _Node:
    """A node of the vocabulary's tree: the tokens that end here, and what follows by byte."""

    __slots__ = ("below", "tokens")

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.below: dict[int, _Node] = {}


def answer_processor(masks: AnswerMasks, prompt_width: int, budget: int) -> Any:
    """A logits processor of transformers for one `generate` call of at most `budget` new tokens an answer.

    Raises `InputError` when the budget does not even hold an empty answer.
    """
    import torch
    from transformers import LogitsProcessor

    if budget < SHORTEST_ANSWER:
        raise InputError(f"a constrained answer needs at least {SHORTEST_ANSWER} tokens; {budget} are left for it")

    class _Allowed(LogitsProcessor):
        def __init__(self) -> None:
            self.states: list[State | None] = []
            self.cut: list[bool] = []
            """By row, whether the budget kept the model from going on as it wanted to."""

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            """Scores, B x V, with -inf for every token that may not follow."""
            written = input_ids.shape[1] - prompt_width
            left = budget - written - 1
            self._follow(input_ids, written)
            allowed = np.zeros((len(self.states), scores.shape[1]), dtype=bool)
            for row, state in enumerate(self.states):
                if state is None:
                    allowed[row, masks.eos] = True  # Ended before: transformers writes padding here.
                    continue
                needs = masks.needs(state)
                allowed[row, : masks.size] = needs <= left
                if not self.cut[row] and (needs[needs < _REFUSED] > left).any():
                    valid = torch.from_numpy(needs < _REFUSED).to(scores.device)
                    wanted = int(scores[row, : masks.size].masked_fill(~valid, float("-inf")).argmax())
                    self.cut[row] = not allowed[row, wanted]
            return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), float("-inf"))

        def _follow(self, input_ids: Any, written: int) -> None:
            if written == 0:
                self.states = [masks.automaton.start] * input_ids.shape[0]
                self.cut = [False] * input_ids.shape[0]
                return
            for row, token in enumerate(input_ids[:, -1].tolist()):
                state = self.states[row]
                ended = state is None or token == masks.eos
                self.states[row] = None if ended or state is None else masks.advance(state, token)

    return _Allowed()


def token_bytes(tokenizer: Any) -> list[bytes]:
    """The bytes that each token writes; empty for special tokens, which no answer holds."""
    kind = _decoder_kind(tokenizer)
    special = {place for place, token in tokenizer.added_tokens_decoder.items() if token.special}
    texts = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    alphabet = {symbol: byte for byte, symbol in enumerate(_byte_symbols())}
    found = []
    for place, text in enumerate(texts):
        if place in special or text is None:
            found.append(b"")
        elif kind == "ByteLevel":
            known = all(symbol in alphabet for symbol in text)
            found.append(bytes(alphabet[symbol] for symbol in text) if known else text.encode())
        else:
            found.append(_piece_bytes(text))
    return found


def _decoder_kind(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise InputError("constrained decoding needs a fast tokenizer (tokenizer.json); export the model with one")
    return "ByteLevel" if "ByteLevel" in repr(backend.decoder) else "pieces"


def _piece_bytes(text: str) -> bytes:
    """A SentencePiece token: U+2581 is a space, <0x0A> a byte."""
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        return bytes([int(text[3:5], 16)])
    return text.replace("\u2581", " ").encode()


def _byte_symbols() -> list[str]:
    """The printable symbol that byte-level vocabularies write for each byte: itself, or one from U+0100 on."""
    own = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in own else chr(next(others)) for byte in range(0x100)]


def _tree(tokens: list[bytes]) -> _Node:
    root = _Node()
    for place, written in enumerate(tokens):
        if not written:
            continue
        node = root
        for byte in written:
            node = node.below.setdefault(byte, _Node())
        node.tokens.append(place)
    return root


@lru_cache(maxsize=1)
def _answer_automaton() -> Automaton:
    return compile_answer()
