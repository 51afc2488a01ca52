"""The dependency extractor as the memory calls it: turns in, one entry a turn, nothing lost without a count.

It fits the protocol of `runtime/extraction/extractor.py`. No exception leaves it: a turn whose parse or rules fail is
kept by the surface route, where the paper returns nothing (A.3); `keep_on_failure=False` restores the paper's way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.analysis import Analysis, analyse
from engrain.runtime.extraction.dependency.dimensions import Located, find_dimensions
from engrain.runtime.extraction.dependency.language import is_english
from engrain.runtime.extraction.dependency.parse import CachedParser, Parse, Parser
from engrain.runtime.extraction.dependency.realization import NOTED
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.dependency.surface import collapse, harmless
from engrain.runtime.extraction.parsing import ParseResult, Reject
from engrain.runtime.extraction.validation import RejectReason
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Dimensions, ExtractedRecord, MemoryType, Role, Turn, WindowStyle

RULES_VERSION = "2"
"""Part of the identity that is stored with every record; raised when the same turn may give another entry."""
PARSERS = ("spacy", "hanlp")


@dataclass(frozen=True, slots=True)
class TurnEntry:
    """What became of one turn. `located` is None when the turn was skipped."""

    turn: Turn
    analysis: Analysis
    located: Located | None

    @property
    def entry(self) -> str:
        """The stored text, empty when the turn was skipped."""
        return self.analysis.entry


class DependencyExtractor:
    """SLICE-Mem's extractor over any parser. `counts` adds up the routes that turns took.

    The memory hands it windows; the paper reads one turn alone (3.2), so `size` is 1 and nothing overlaps. In a larger
    window every new message of the user gives its entry.
    """

    size = 1
    overlap = 0

    def __init__(
        self,
        parser: Parser,
        settings: DependencySettings | None = None,
        *,
        style: WindowStyle = WindowStyle.LONGMEMEVAL,
    ) -> None:
        self.settings = settings or DependencySettings()
        self.style = style
        self.parser = CachedParser(parser)
        self.identity = f"dependency-{RULES_VERSION}/{parser.identity}"
        self.counts: Counter[str] = Counter()

    @classmethod
    def load(
        cls, parser: str = "spacy", model: str | None = None, settings: DependencySettings | None = None
    ) -> DependencyExtractor:
        """Load a parser by its kind, `spacy` or `hanlp`, with its default model or the one named.

        Raises `InputError` when the kind is unknown, its extra is missing or its model cannot be had.
        """
        if parser == "spacy":
            from engrain.runtime.extraction.dependency.spacy_parser import SpacyParser

            return cls(SpacyParser.load(model), settings)
        if parser == "hanlp":
            from engrain.runtime.extraction.dependency.hanlp_parser import DEFAULT_MODEL, HanlpParser

            return cls(HanlpParser.load(model or DEFAULT_MODEL), settings)
        raise InputError(f"parser '{parser}' is unknown; use one of {', '.join(PARSERS)}")

    def extract(self, windows: Sequence[Window]) -> list[ParseResult]:
        """One result a window: a record for each new message of the user, a reject for each that says nothing."""
        turns = [turn for window in windows for turn in window.new_turns if turn.role is Role.USER]
        entries = iter(self.extract_turns(turns))
        results = []
        for window in windows:
            records: list[ExtractedRecord] = []
            rejects: list[Reject] = []
            for number, turn in enumerate(window.turns, start=1):
                if window.is_new(number) and turn.role is Role.USER:
                    _file(next(entries), number, records, rejects)
            results.append(ParseResult(tuple(records), tuple(rejects), valid_json=True, truncated=False))
        return results

    def extract_turns(self, turns: Sequence[Turn]) -> list[TurnEntry]:
        """One entry a turn, in order, with its analysis and dimensions."""
        analyses = self.analyse([turn.text for turn in turns])
        return [
            TurnEntry(turn, analysis, self._located(analysis, turn) if analysis.entry else None)
            for turn, analysis in zip(turns, analyses, strict=True)
        ]

    def analyse(self, texts: Sequence[str]) -> list[Analysis]:
        """Run the rules on every text, in order; parses are batched, failures stay with their own turn."""
        clean = [harmless(text) for text in texts]
        results: dict[int, Analysis] = {}
        waiting: list[int] = []
        for index, text in enumerate(clean):
            early = self._without_parser(text)
            if early is None:
                waiting.append(index)
            else:
                results[index] = early
        parses = self._parse([clean[index] for index in waiting])
        for index, parse in zip(waiting, parses, strict=True):
            results[index] = self._apply(clean[index], parse)
        ordered = [results[index] for index in range(len(texts))]
        self.counts.update(analysis.route for analysis in ordered)
        return ordered

    def _without_parser(self, text: str) -> Analysis | None:
        """The result of a turn that no parser should see, or None."""
        if not any(character.isalnum() for character in text):
            return _skipped(text, "no words")
        if len(text) > self.settings.longest_turn:
            return _surface(text, f"longer than {self.settings.longest_turn} characters", noted=False)
        if not is_english(text):
            return _surface(text, "not English", noted=False)
        return None

    def _parse(self, texts: list[str]) -> list[Parse | str]:
        """A parse for every text, or why there is none; a batch that fails is tried again turn by turn."""
        try:
            return list(self.parser.parse(texts))
        except Exception:  # A parser may raise anything; its turn is kept by the surface route below.
            single: list[Parse | str] = []
            for text in texts:
                try:
                    single += self.parser.parse([text])
                except Exception as error:
                    single.append(f"parser failed: {type(error).__name__}: {error}")
            return single

    def _apply(self, text: str, parse: Parse | str) -> Analysis:
        if isinstance(parse, str):
            return self._failed(text, parse)
        try:
            return analyse(parse, self.settings)
        except Exception as error:  # A rule's fault must not lose a turn (deviation from A.3, switchable).
            return self._failed(text, f"rules failed: {type(error).__name__}: {error}")

    def _failed(self, text: str, reason: str) -> Analysis:
        return _surface(text, reason, noted=True) if self.settings.keep_on_failure else _skipped(text, reason)

    def _located(self, analysis: Analysis, turn: Turn) -> Located:
        try:
            return find_dimensions(analysis, turn.timestamp, self.settings.keywords)
        except Exception:  # Dimensions are an addition: without them the entry still counts.
            self.counts["dimensions_failed"] += 1
            return Located(Dimensions(memory_type=MemoryType.FACT))


def _file(entry: TurnEntry, number: int, records: list[ExtractedRecord], rejects: list[Reject]) -> None:
    if entry.located is None:
        rejects.append(Reject(RejectReason.NO_CONTENT, f"{entry.analysis.reason}: {harmless(entry.turn.text)}"))
    else:
        records.append(ExtractedRecord(source_id=number, content=entry.entry, dimension=entry.located.dimensions))


def _surface(text: str, reason: str, *, noted: bool) -> Analysis:
    """The text as it is; after a failure with a lead that attributes it to the user."""
    return Analysis(text, None, [], [], (NOTED if noted else "") + collapse(text), "surface", 1.0, reason)


def _skipped(text: str, reason: str) -> Analysis:
    return Analysis(text, None, [], [], "", "skipped", 0.0, reason)
