"""The rows of one teacher-labelled corpus: drawn from the consensus pool, balanced by type, split by whole groups."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engrain.data_builders.gate_corpus_settings import PartSettings
from engrain.data_builders.sampling import carve
from engrain.data_builders.teachers.records import Annotation
from engrain.runtime.errors import InputError
from engrain.runtime.schema import AuxiliaryType, GateExample, LabelSource, Split

Key = TypeVar("Key", bound=Hashable)
_Kind = AuxiliaryType | None
_Stratum = tuple[_Kind, bool]


@dataclass(frozen=True)
class Part:
    """The examples of one corpus. `split_by` says what the validation rows are balanced by."""

    corpus: str
    examples: tuple[GateExample, ...]
    split_by: str


def build_part(annotations: Sequence[Annotation], settings: PartSettings) -> Part:
    """Draw and split the rows of one corpus from everything that was annotated of it.

    Raises `InputError` when too few candidates reached consensus, when those that did are all of one label, or when
    groups are too large for the validation rows asked for. What was bought stays in the ledger.
    """
    corpus = annotations[0].candidate.corpus
    pool = [annotation for annotation in annotations if annotation.verdict.accepted]
    _require_pool(corpus, pool, annotations, settings)
    rng = random.Random(f"{settings.seed}/rows/{corpus}")
    chosen = rng.sample(pool, settings.count) if settings.sampling == "natural" else _balanced(pool, settings, rng)
    places = {annotation.candidate.id: place for place, annotation in enumerate(pool)}
    chosen.sort(key=lambda annotation: places[annotation.candidate.id])
    validating, split_by = _validation_groups(corpus, chosen, settings)
    return Part(corpus, tuple(_example(one, one.candidate.group in validating) for one in chosen), split_by)


def share_out(total: int, available: Mapping[Key, int]) -> dict[Key, int]:
    """`total` spread as evenly as what is available allows: 10 over {a: 2, b: 9, c: 9} gives 2, 4, 4."""
    quotas = dict.fromkeys(available, 0)
    left = min(total, sum(available.values()))
    while left:
        unfilled = [key for key in quotas if quotas[key] < available[key]]
        each = max(1, left // len(unfilled))
        for key in unfilled:
            added = min(each, available[key] - quotas[key], left)
            quotas[key] += added
            left -= added
    return quotas


def apportion(total: int, sizes: Mapping[Key, int]) -> dict[Key, int]:
    """`total` in proportion to `sizes`, as whole numbers that add up: the largest remainders are rounded up."""
    whole = sum(sizes.values())
    exact = {key: total * size / whole for key, size in sizes.items()}
    quotas = {key: int(value) for key, value in exact.items()}
    by_remainder = sorted(sizes, key=lambda key: exact[key] - quotas[key], reverse=True)
    for key in by_remainder[: total - sum(quotas.values())]:
        quotas[key] += 1
    return quotas


def _require_pool(
    corpus: str, pool: Sequence[Annotation], annotations: Sequence[Annotation], settings: PartSettings
) -> None:
    labels = Counter(annotation.verdict.label for annotation in pool)
    refused = Counter(str(one.verdict.rejected_because) for one in annotations if not one.verdict.accepted)
    listed = ", ".join(f"{count} {reason}" for reason, count in refused.most_common()) or "none"
    kept = "what was bought is kept in the ledger"
    if len(pool) < settings.count:
        raise InputError(
            f"{corpus}: {settings.count} rows were asked for, but {len(pool)} of {len(annotations)} candidates reached "
            f"consensus (refused: {listed}); raise candidates.count or lower rows.count; {kept}"
        )
    if not labels[True] or not labels[False]:
        raise InputError(
            f"{corpus}: the {len(pool)} candidates with consensus hold {labels[True]} positives and {labels[False]} "
            f"negatives; a gate needs both: raise candidates.count, or look at the teachers' votes; {kept}"
        )


def _balanced(pool: Sequence[Annotation], settings: PartSettings, rng: random.Random) -> list[Annotation]:
    """Rows balanced by auxiliary type and, inside that, as near to the share of positives as the pool allows.

    Rows without a majority type are taken only when the four types cannot fill the corpus.
    """
    strata: defaultdict[_Stratum, list[Annotation]] = defaultdict(list)
    for annotation in pool:
        strata[_stratum(annotation)].append(annotation)
    held = Counter(kind for kind, _ in map(_stratum, pool))
    quotas: dict[_Kind, int] = dict(share_out(settings.count, {kind: held[kind] for kind in AuxiliaryType}))
    quotas[None] = settings.count - sum(quotas.values())
    positives = _positives(quotas, strata, settings)
    chosen: list[Annotation] = []
    for kind, quota in quotas.items():
        for label, count in ((True, positives[kind]), (False, quota - positives[kind])):
            chosen += rng.sample(strata[kind, label], count)
    return chosen


def _positives(
    quotas: Mapping[_Kind, int], strata: Mapping[_Stratum, Sequence[Annotation]], settings: PartSettings
) -> dict[_Kind, int]:
    """Positive rows of each type; without a share asked for, in proportion to the pool."""
    yes = {kind: len(strata.get((kind, True), ())) for kind in quotas}
    no = {kind: len(strata.get((kind, False), ())) for kind in quotas}
    least = {kind: max(0, quota - no[kind]) for kind, quota in quotas.items()}
    most = {kind: min(quota, yes[kind]) for kind, quota in quotas.items()}
    if settings.positive_share is None:
        natural = {kind: round(quota * yes[kind] / max(1, yes[kind] + no[kind])) for kind, quota in quotas.items()}
        return {kind: min(max(natural[kind], least[kind]), most[kind]) for kind in quotas}
    wanted = max(0, round(settings.positive_share * settings.count) - sum(least.values()))
    more = share_out(wanted, {kind: most[kind] - least[kind] for kind in quotas})
    return {kind: least[kind] + more[kind] for kind in quotas}


def _validation_groups(corpus: str, rows: Sequence[Annotation], settings: PartSettings) -> tuple[set[str], str]:
    """Whole groups that hold the validation rows, balanced by type and label, or by as much of that as groups allow."""
    for split_by, names in (("type and label", _stratum), ("label", _label), ("nothing", _nothing)):
        strata: defaultdict[str, list[Hashable]] = defaultdict(list)
        for row in rows:
            strata[row.candidate.group].append(names(row))
        sizes = Counter(name for held in strata.values() for name in held)
        rng = random.Random(f"{settings.seed}/split/{corpus}")
        groups, unfilled = carve(strata, apportion(settings.validation, sizes), rng)
        if not unfilled:
            return groups, split_by
    raise InputError(
        f"{corpus}: {unfilled.total()} of {settings.validation} validation rows could not be filled with whole groups "
        f"({len(strata)} groups); set candidates.group_by: session, or lower rows.validation"
    )


def _stratum(annotation: Annotation) -> _Stratum:
    return annotation.verdict.auxiliary_type, bool(annotation.verdict.label)


def _label(annotation: Annotation) -> bool:
    return bool(annotation.verdict.label)


def _nothing(annotation: Annotation) -> None:
    return None


def _example(annotation: Annotation, validates: bool) -> GateExample:
    candidate, verdict = annotation.candidate, annotation.verdict
    return GateExample(
        id=candidate.id,
        split=Split.VALIDATION if validates else Split.TRAIN,
        context=candidate.context,
        target=candidate.target,
        label=bool(verdict.label),
        label_source=LabelSource.TEACHER_CONSENSUS,
        votes=annotation.votes,
        auxiliary_type=verdict.auxiliary_type,
        context_dependence=verdict.context_dependence,
        corpus=candidate.corpus,
        group=candidate.group,
    )
