"""From rankings, answers and verdicts to the figures of one system."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from engrain.data_builders.quality.agreement import MISSING, krippendorff_alpha
from engrain.recipes.benchmarks.pipeline.judging import Answered, Judged
from engrain.recipes.benchmarks.pipeline.stages import Built
from engrain.recipes.benchmarks.scores import fama
from engrain.recipes.benchmarks.scores.answers import Verdict, accuracy, token_f1
from engrain.recipes.benchmarks.scores.bootstrap import grouped_interval, mean_interval
from engrain.recipes.benchmarks.scores.fama import Criteria
from engrain.recipes.benchmarks.scores.retrieval import question_figures, retrieval_criteria
from engrain.recipes.benchmarks.suites.suite import Question, Suite

# Shares that are averaged over questions; counts are summed first.
_SHARES = ("recall@", "precision@", "ndcg@", "sessions@", "context_")
_COUNTS = (
    ("presence", "values_present", "values_remembered"),
    ("forgotten share", "forgotten_present", "values_forgotten"),
    ("stale leakage", "stale_leakage", "values_forgotten"),
    ("deleting turns", "deleting_turn", "values_forgotten"),
)


def question_rows(
    suite: Suite, built: Built, session_of: Mapping[str, str], context_words: int
) -> list[dict[str, Any]]:
    """One row a question that the system has a ranking for: who it is, its part of the data, its figures."""
    return [
        {
            "id": question.id,
            "group": question.group,
            "task": question.task,
            "part": suite.part_of(question.group),
            "question": question.question,
            "answer": question.answer or ", ".join(value.value for value in question.remembered),
            "figures": question_figures(question, built.rankings[question.id], session_of, suite.unit, context_words),
        }
        for question in suite.questions
        if question.id in built.rankings
    ]


def retrieval_scores(suite: Suite, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over questions, and for Memora the retrieval-level FAMA with presence and forgotten share beside it."""
    scores = _means([row["figures"] for row in rows])
    by_id = {question.id: question for question in suite.questions}
    # Abstentions have no evidence: they are in no recall, and counted.
    scores["questions"] = len(rows)
    scores["without evidence"] = sum(not by_id[row["id"]].evidence for row in rows)
    criteria = [
        retrieval_criteria(by_id[row["id"]], row["figures"]) for row in rows if "values_remembered" in row["figures"]
    ]
    if criteria:
        scores["retrieval FAMA"] = fama.score(criteria).fama
    scores["by task"] = _grouped(rows, "task")
    scores["by part"] = _grouped(rows, "part")
    return scores


def criteria_of(judged: Judged) -> Criteria:
    """A judge's verdicts on one Memora answer as counts."""
    kinds = {criterion.id: criterion.kind for criterion in judged.question.criteria}
    held = {
        kind: [judged.verdicts[name] for name in kinds if kinds[name] == kind] for kind in ("presence", "forgetting")
    }
    return Criteria(
        persona=judged.question.group,
        task=judged.question.task,
        presence=len(held["presence"]),
        present=sum(verdict is True for verdict in held["presence"]),
        forgetting=len(held["forgetting"]),
        absent=sum(verdict is True for verdict in held["forgetting"]),
        unread=sum(verdict is None for verdict in judged.verdicts.values()),
    )


def answer_scores(suite: Suite, judged: Sequence[Judged], answers: Sequence[Answered]) -> dict[str, Any]:
    """What one judge's verdicts come to: FAMA with its diagnostics, or accuracy and F1, with an interval."""
    if suite.scored_by == "criteria":
        return _fama_scores([criteria_of(one) for one in judged])
    texts = {one.question.id: one.text or "" for one in answers}
    verdicts = [_verdict(one, texts[one.question.id]) for one in judged]
    result = asdict(accuracy(verdicts))
    read = [float(bool(one.correct)) for one in verdicts if one.correct is not None]
    return result | ({"interval": asdict(mean_interval(read))} if read else {})


def judge_agreement(verdicts: Mapping[str, Sequence[Judged]]) -> float | None:
    """Krippendorff's alpha of the judges over every verdict, unread ones missing; None for a single judge."""
    if len(verdicts) < 2:
        return None
    said = [
        {(one.question.id, name): held for one in own for name, held in one.verdicts.items()}
        for own in verdicts.values()
    ]
    units = sorted(set().union(*said))
    ratings = [[MISSING if own.get(unit) is None else int(bool(own[unit])) for own in said] for unit in units]
    alpha = krippendorff_alpha(ratings) if units else float("nan")
    return None if math.isnan(alpha) else alpha


def _fama_scores(criteria: Sequence[Criteria]) -> dict[str, Any]:
    """FAMA and its diagnostics, with the interval of FAMA on the same scale."""
    read: defaultdict[str, list[float]] = defaultdict(list)
    for one in criteria:
        if not one.unread:
            read[one.persona].append(100 * one.fama)
    if not read:
        return {"questions": 0, "left_out": len(criteria), "unread": sum(one.unread for one in criteria)}
    return asdict(fama.score(criteria)) | {"interval": asdict(grouped_interval([*read.values()]))}


def _verdict(judged: Judged, answer: str) -> Verdict:
    question: Question = judged.question
    scored = None if question.abstention or not question.answer else token_f1(answer, question.answer)
    return Verdict(question.task, judged.verdicts.get("answer"), scored)


def _means(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = sorted({name for row in figures for name in row if name.startswith(_SHARES)})
    means: dict[str, Any] = {name: fmean(row[name] for row in figures if name in row) for name in names}
    for name, part, whole in _COUNTS:
        total = sum(row.get(whole, 0) for row in figures)
        if total:
            means[name] = sum(row.get(part, 0) for row in figures) / total
    return means


def _grouped(rows: Sequence[Mapping[str, Any]], by: str) -> dict[str, dict[str, Any]]:
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row[by]].append(row["figures"])
    return {name: _means(own) | {"questions": len(own)} for name, own in sorted(groups.items())}
