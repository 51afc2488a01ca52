"""From windows to records: the extractor that an agent's memory calls, over any model that can answer a chat.

DimMem section 3.2. A window whose answer failed (cut off, unreadable, refused by the service) is returned as a result
that says so: it is counted and can be tried again. Only a service that answers nothing at all is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.parsing import ParseResult, Reject, parse_records
from engrain.runtime.extraction.prompts import extraction_messages
from engrain.runtime.extraction.validation import RejectReason
from engrain.runtime.extraction.windows import PAPER_WINDOWS, Window
from engrain.runtime.schema import WindowStyle

FinishReason = Literal["stop", "length", "error"]


@dataclass(frozen=True)
class Completion:
    """A model's answer: why it ended, and for `error` what went wrong (then `text` is empty)."""

    text: str
    finish_reason: FinishReason
    error: str = ""


class Generator(Protocol):
    """A model that answers conversations, in order, one completion each."""

    def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
        """Answer every conversation. A single failure is a completion of reason `error`, not an exception."""
        ...


class Extractor(Protocol):
    """What the memory asks for: one result a window, in order."""

    identity: str
    style: WindowStyle
    size: int
    overlap: int

    def extract(self, windows: Sequence[Window]) -> list[ParseResult]:
        """The records of every window, with what was rejected."""
        ...


class DimensionalExtractor:
    """DimMem's extractor: prompts a generator with each window and reads its answer.

    `identity` is stored beside every record. `prompt` must be the one that the model was tuned under. `size` and
    `overlap`, in messages, are what the model was tuned on; the paper's values for the style by default. So is `keep`,
    the share of words that compression leaves; 1 asks with the messages as they are.
    """

    def __init__(
        self,
        generator: Generator,
        style: WindowStyle,
        prompt: str,
        identity: str,
        *,
        size: int | None = None,
        overlap: int | None = None,
        keep: float = 1.0,
    ) -> None:
        paper_size, paper_overlap = PAPER_WINDOWS[style]
        self.size = paper_size if size is None else size
        self.overlap = min(paper_overlap, self.size - 1) if overlap is None else overlap
        if not 0 <= self.overlap < self.size:
            raise InputError(f"window size {self.size} with overlap {self.overlap}: the overlap must be smaller")
        self.generator = generator
        self.style = style
        self.prompt = prompt
        self.identity = identity
        self.keep = keep

    def extract(self, windows: Sequence[Window]) -> list[ParseResult]:
        """One result a window, in order.

        `valid_json` is False for every window that failed; its `rejects` tell why. Raises `ModelServiceError` only
        when the model behind the generator could not answer at all.
        """
        if not windows:
            return []
        conversations = [extraction_messages(window, self.style, self.prompt, self.keep) for window in windows]
        completions = self.generator.generate(conversations)
        return [read_completion(answer, window) for answer, window in zip(completions, windows, strict=True)]


def read_completion(completion: Completion, window: Window) -> ParseResult:
    """Read one answer; why it ended is looked at before its text.

    An answer that ran out of tokens is `truncated` even where its JSON happens to end well: a list may have been meant
    to go on. The records that were complete are kept.
    """
    if completion.finish_reason == "error":
        failure = Reject(RejectReason.NO_JSON, f"no answer: {completion.error}")
        return ParseResult(records=(), rejects=(failure,), valid_json=False, truncated=False)
    result = parse_records(completion.text, window)
    if completion.finish_reason == "length" and not result.truncated:
        rejects = (*result.rejects, Reject(RejectReason.TRUNCATED, completion.text))
        return replace(result, rejects=rejects, truncated=True)
    return result
