"""Forgetting-Aware Memory Accuracy and its diagnostics, exactly as SLICE-Mem B.2 defines them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class Criteria:
    """How many criteria of one question there are, and how many an answer satisfies.

    `present` of `presence` values are there; `absent` of `forgetting` values are not there. `unread` counts criteria
    whose verdict is neither yes nor no: such a question is in no score.
    """

    persona: str
    task: str
    presence: int
    present: int
    forgetting: int
    absent: int
    unread: int = 0

    @property
    def mpa(self) -> float:
        """Memory-presence accuracy; 0 without presence criteria (B.2)."""
        return self.present / self.presence if self.presence else 0.0

    @property
    def faa(self) -> float:
        """Forgetting-absence accuracy; 1 without forgetting criteria (B.2)."""
        return self.absent / self.forgetting if self.forgetting else 1.0

    @property
    def fama(self) -> float:
        """Equation 4: max(0, MPA - lambda (1 - FAA)), lambda the share of forgetting criteria, 0 without criteria."""
        total = self.presence + self.forgetting
        weight = self.forgetting / total if total else 0.0
        return max(0.0, self.mpa - weight * (1.0 - self.faa))


@dataclass(frozen=True)
class Fama:
    """Scores on a scale of 0 to 100. `mpa` and `faa` pool criteria within a persona; None where no persona has any.

    `questions` are those scored, `left_out` those with an unread verdict, `unread` the verdicts.
    """

    fama: float
    by_task: dict[str, float]
    by_persona: dict[str, float]
    mpa: float | None
    faa: float | None
    questions: int
    left_out: int
    unread: int


def score(questions: Sequence[Criteria]) -> Fama:
    """FAMA averaged over questions within a persona, then over personas, times 100; MPA and FAA pooled, then averaged.

    Task figures are the same procedure over the questions of that task (B.2). Raises `ValueError` when there is no
    question whose verdicts were all read.
    """
    read = [one for one in questions if not one.unread]
    if not read:
        raise ValueError("FAMA needs at least one question whose verdicts were read")
    by_persona = _by(read, "persona")
    tasks = {task: _averaged(_by(own, "persona")) for task, own in sorted(_by(read, "task").items())}
    return Fama(
        fama=_averaged(by_persona),
        by_task=tasks,
        by_persona={persona: 100 * fmean(one.fama for one in own) for persona, own in sorted(by_persona.items())},
        mpa=_pooled((sum(one.present for one in own), sum(one.presence for one in own)) for own in by_persona.values()),
        faa=_pooled(
            (sum(one.absent for one in own), sum(one.forgetting for one in own)) for own in by_persona.values()
        ),
        questions=len(read),
        left_out=len(questions) - len(read),
        unread=sum(one.unread for one in questions),
    )


def _averaged(by_persona: dict[str, list[Criteria]]) -> float:
    return 100 * fmean(fmean(one.fama for one in own) for own in by_persona.values())


def _pooled(counts: Iterable[tuple[int, int]]) -> float | None:
    """Mean over the personas that have such criteria of their satisfied share, times 100."""
    shares = [satisfied / total for satisfied, total in counts if total]
    return 100 * fmean(shares) if shares else None


def _by(questions: Iterable[Criteria], field: str) -> dict[str, list[Criteria]]:
    groups: defaultdict[str, list[Criteria]] = defaultdict(list)
    for question in questions:
        groups[getattr(question, field)].append(question)
    return dict(groups)
