"""Answers of a model while it is tuned: a few validation windows, written beside the run and scored where asked for.

They go through the runtime's generator and parser, unconstrained, so they show what the model does by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.data import spread
from engrain.models.extractor.metrics import Embed, score_extraction
from engrain.runtime.extraction.extractor import Completion, read_completion
from engrain.runtime.extraction.local import LocalGenerator
from engrain.runtime.extraction.prompts import extraction_messages, render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample

SAMPLES_FILE = "samples.jsonl"


class Sampler:
    """Generates for the same windows after every evaluation.

    `embed` scores the answers; without it they are only written. Generating draws no random number and leaves the
    model in the mode it was in, so a run with samples equals one without them.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Any,
        examples: Sequence[ExtractionExample],
        config: ExtractorConfig,
        embed: Embed | None = None,
    ) -> None:
        self.path, self.tokenizer, self.config, self.embed = folder / SAMPLES_FILE, tokenizer, config, embed
        self.examples = spread(examples, config.training.samples)
        self.windows = [Window(example.window, example.overlap) for example in self.examples]

    def __call__(self, model: Any, step: int) -> float | None:
        """Answer every window with a causal LM, write the answers, and return record F1 (0 to 1) with an `embed`."""
        generator = LocalGenerator(
            model,
            self.tokenizer,
            max_new_tokens=self.config.training.sample_tokens,
            batch_size=self.config.decoding.batch_size,
            thinking=self.config.model.thinking,
        )
        asking = self.config.model
        asked = [
            extraction_messages(window, example.style, asking.prompt, asking.keep_words)
            for window, example in zip(self.windows, self.examples, strict=True)
        ]
        answers = generator.generate(asked)
        self._write(step, answers)
        if self.embed is None:
            return None
        results = [read_completion(answer, window) for answer, window in zip(answers, self.windows, strict=True)]
        return score_extraction(results, [example.records for example in self.examples], self.embed).f1

    def _write(self, step: int, answers: Sequence[Completion]) -> None:
        """Put this step's answers behind those of earlier steps; what a stopped run wrote of it before goes."""
        earlier = [row for row in read_samples(self.path) if row["step"] < step]
        rows = [
            {
                "step": step,
                "example": example.id,
                "answer": answer.text,
                "finish": answer.finish_reason,
                "gold": render_records(example.records, self.config.model.prompt),
            }
            for example, answer in zip(self.examples, answers, strict=True)
        ]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in [*earlier, *rows])
        part = self.path.with_name(f"{self.path.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(self.path)


def read_samples(path: Path) -> list[dict[str, Any]]:
    """The rows of a samples file: step, example, answer, finish, gold; none when there is no file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
