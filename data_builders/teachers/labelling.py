"""Asking the teachers: every candidate, every teacher, corrections where an answer is invalid (SLICE-Mem A.1, B.1).

Nothing is kept here between runs: a request that was answered is in the ledger, so a run that starts again goes the
same way and buys only what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from engrain.data_builders.teachers.records import Candidate, TeacherResult
from engrain.data_builders.teachers.requests import annotation_request, correction_request
from engrain.data_builders.teachers.rubric import Rubric
from engrain.data_builders.teachers.settings import AnnotationSettings
from engrain.data_builders.teachers.validation import ValidAnswer, validate
from engrain.runtime.llm.blocking import run_blocking
from engrain.runtime.llm.chat import Call, ChatAnswer, ChatRequest, ModelClient, Outcome, Stage
from engrain.runtime.llm.health import FailureWatch

Progress = Callable[[int, int], None]
CUT = "the answer was cut off at the token limit; write the JSON object alone, with a reason of a few words"
_FILTERED = "content_filter"
_FEWEST_JUDGED = 10
"""Candidates below which no teacher is stopped: a share of so few says little, and costs little."""
_ANSWER_SHOWN = 160


@dataclass
class _Pending:
    """A candidate that a teacher has not answered validly yet."""

    candidate: Candidate
    request: ChatRequest
    attempts: int = 0


@dataclass
class _Teacher:
    """One teacher's part of a run."""

    client: ModelClient
    candidates: Sequence[Candidate]
    rubric: Rubric
    settings: AnnotationSettings
    stop: asyncio.Event
    advance: Callable[[], None]
    results: dict[int, TeacherResult] = field(default_factory=dict)

    async def run(self) -> list[TeacherResult]:
        """Results in the order of the candidates. An error stops the other teachers too: no pool without this one."""
        try:
            pending = {
                number: _Pending(candidate, annotation_request(candidate, self.rubric, self.settings))
                for number, candidate in enumerate(self.candidates)
            }
            watch = self._watch(len(pending))
            for attempt in range(1 + self.settings.retries):
                if not pending or self.stop.is_set():
                    break
                pending = await self._round(pending, watch if attempt == 0 else None)
            for number, left in pending.items():
                self.results.setdefault(number, self._result(left.attempts, failure="the run was stopped"))
        except BaseException:
            self.stop.set()
            raise
        return [self.results[number] for number in range(len(self.candidates))]

    def _watch(self, answers: int) -> FailureWatch:
        over = self.settings.judged_over if answers < _FEWEST_JUDGED else min(self.settings.judged_over, answers)
        return FailureWatch(f"teacher {self.client.name!r}", share=self.settings.max_bad_share, over=over)

    async def _round(self, pending: dict[int, _Pending], watch: FailureWatch | None) -> dict[int, _Pending]:
        """Ask for every pending candidate once; returns those that are to be corrected."""
        again: dict[int, _Pending] = {}
        async with aclosing(self.client.run(self._calls(pending))) as outcomes:
            async for outcome in outcomes:
                number = int(outcome.call.tag)
                one = pending[number]
                one.attempts += 1
                faults = self._take(number, one, outcome)
                if watch is not None:
                    self._judge(watch, outcome, faults)
                if faults and one.attempts <= self.settings.retries and _correctable(outcome):
                    again[number] = _Pending(one.candidate, self._correction(one, outcome, faults), one.attempts)
                else:
                    self.advance()
                if self.stop.is_set():
                    break
        return again

    def _calls(self, pending: dict[int, _Pending]) -> Iterator[Call]:
        for number, one in pending.items():
            yield Call(one.request, Stage.LABEL, self.client.name, tag=number)

    def _take(self, number: int, one: _Pending, outcome: Outcome) -> list[str]:
        """Keep what an outcome gives; returns what is wrong with the answer."""
        if outcome.answer is None:
            failure = outcome.failure
            said = f"{failure.kind}: {failure.message}" if failure else "no answer"
            self.results[number] = self._result(one.attempts, failure=said)
            return []
        read = _read(outcome.answer, one.candidate.target.text)
        if isinstance(read, ValidAnswer):
            vote = read.vote(self.client.name)
            self.results[number] = self._result(one.attempts, vote=vote, reason=read.reason)
            return []
        self.results[number] = self._result(one.attempts, faults=tuple(read))
        return read

    def _result(self, attempts: int, **fields: object) -> TeacherResult:
        return TeacherResult.model_validate({"teacher": self.client.name, "attempts": attempts, **fields})

    def _judge(self, watch: FailureWatch, outcome: Outcome, faults: list[str]) -> None:
        """Count a first answer as good or bad; the client itself watches calls without an answer."""
        if outcome.answer is None:
            return
        if faults:
            said = " ".join(outcome.answer.text.split())[:_ANSWER_SHOWN]
            watch.failure(f"answer: {said} | {'; '.join(faults)}")
        else:
            watch.success()

    def _correction(self, one: _Pending, outcome: Outcome, faults: list[str]) -> ChatRequest:
        answer = outcome.answer
        # A cut answer is not shown back: it would cost its tokens again and teaches nothing.
        said = "" if answer is None or answer.truncated else answer.text
        return correction_request(one.candidate, self.rubric, self.settings, said, faults)


def ask_teachers(
    clients: Sequence[ModelClient],
    candidates: Sequence[Candidate],
    rubric: Rubric,
    settings: AnnotationSettings,
    progress: Progress | None = None,
) -> list[tuple[TeacherResult, ...]]:
    """Every teacher's result for every candidate, in the order of the candidates; teachers work at the same time.

    Raises what ends a run, after everything in flight is answered and kept: `BudgetReachedError`, and
    `ModelServiceError` for an unusable endpoint or a teacher with too many invalid answers.
    """
    return run_blocking(_ask(clients, candidates, rubric, settings, progress))


async def _ask(
    clients: Sequence[ModelClient],
    candidates: Sequence[Candidate],
    rubric: Rubric,
    settings: AnnotationSettings,
    progress: Progress | None,
) -> list[tuple[TeacherResult, ...]]:
    stop, total, done = asyncio.Event(), len(clients) * len(candidates), 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    teachers = [_Teacher(client, candidates, rubric, settings, stop, advance) for client in clients]
    ended = await asyncio.gather(*(teacher.run() for teacher in teachers), return_exceptions=True)
    by_teacher: list[list[TeacherResult]] = []
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        by_teacher.append(result)
    return list(zip(*by_teacher, strict=True))


def _read(answer: ChatAnswer, target: str) -> ValidAnswer | list[str]:
    """Why the answer ended is looked at before its text."""
    if answer.truncated:
        return [CUT]
    if answer.finish_reason == _FILTERED:
        return ["the endpoint filtered the answer"]
    return validate(answer.text, target)


def _correctable(outcome: Outcome) -> bool:
    """Whether another request can help; a filter would stop it again."""
    return outcome.answer is not None and outcome.answer.finish_reason != _FILTERED
