"""Stops a model that keeps failing, before it has burnt the whole run."""

from __future__ import annotations

from collections import deque

from engrain.runtime.errors import ModelServiceError

SAMPLES_SHOWN = 3
SAMPLE_CHARACTERS = 300


class FailureWatch:
    """Looks at the last `over` outcomes and raises when more than `share` of them failed.

    The client feeds it service failures; whoever validates answers can keep another one for bad answers.
    """

    def __init__(self, who: str, *, share: float, over: int) -> None:
        self._who, self._share = who, share
        self._failed: deque[bool] = deque(maxlen=over)
        self._samples: deque[str] = deque(maxlen=SAMPLES_SHOWN)

    def success(self) -> None:
        """Note a good outcome."""
        self._failed.append(False)

    def failure(self, sample: str) -> None:
        """Note a bad outcome; `ModelServiceError` with the last three samples once the share is exceeded."""
        self._failed.append(True)
        self._samples.append(sample[:SAMPLE_CHARACTERS])
        bad, seen = sum(self._failed), len(self._failed)
        if seen == self._failed.maxlen and bad > self._share * seen:
            listed = "\n".join(f"  {number}. {text}" for number, text in enumerate(self._samples, 1))
            raise ModelServiceError(
                f"{self._who} was stopped: {bad} of its last {seen} calls failed (allowed share {self._share:g}). "
                f"What is done is kept. The last failures:\n{listed}"
            )
