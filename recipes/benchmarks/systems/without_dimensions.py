"""An ablation of DimMem: an extractor whose records lack some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from engrain.runtime.extraction.extractor import Extractor
from engrain.runtime.extraction.parsing import ParseResult
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractedRecord

Dimension = Literal["time", "location", "reason", "purpose", "keywords"]
_EMPTY: dict[str, Any] = {"time": "", "location": "", "reason": "", "purpose": "", "keywords": ()}


class WithoutDimensions:
    """The same records with these dimensions emptied; content and type stay."""

    def __init__(self, extractor: Extractor, dropped: Sequence[Dimension]) -> None:
        self._extractor, self._dropped = extractor, tuple(dropped)
        self.identity = f"{extractor.identity} without {', '.join(self._dropped)}"
        self.style, self.size, self.overlap = extractor.style, extractor.size, extractor.overlap

    def extract(self, windows: Sequence[Window]) -> list[ParseResult]:
        """The extractor's results, each record without the dropped dimensions."""
        results = self._extractor.extract(windows)
        return [replace(one, records=tuple(self._without(record) for record in one.records)) for one in results]

    def _without(self, record: ExtractedRecord) -> ExtractedRecord:
        emptied: dict[str, Any] = {name: _EMPTY[name] for name in self._dropped}
        return record.model_copy(update={"dimension": record.dimension.model_copy(update=emptied)})
