"""Exact and near duplicates among target turns.

Exact: the same words, whatever the case and punctuation. Near: the sets of word pairs overlap by `near_overlap` or
more (Jaccard). Candidates come from MinHash signatures cut into bands (Broder 1997; Leskovec, Rajaraman, Ullman,
Mining of Massive Datasets, chapter 3); every candidate is then compared exactly, so chance decides only what is
missed: of pairs that overlap by 0.7, 1 - (1 - 0.7^4)^16 = 98.8% are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from engrain.data_builders.quality.rows import Row
from engrain.data_builders.quality.text import Hashes, Positions, WordHasher, ranges, same_text
from engrain.runtime.schema import Contract, Split

Progress = Callable[[int, int], None]
Signatures = NDArray[np.uint32]

_PERMUTATIONS, _BANDS = 64, 16
_SHINGLE = 2
"""Words in a shingle: in a turn of 20 words one other word leaves an overlap of 0.8."""
_OPENING = "\x02"
"""Stands before the first word, so that a turn of one word has a shingle."""
_NEIGHBOURS = 16
"""Members of a bucket that each is compared with, beside the bucket's first; keeps boilerplate from being quadratic."""
_PAIRS_AT_ONCE = 200_000
_LISTED_IDS = 5


class DuplicateGroup(Contract):
    """Turns that say the same."""

    text: str = Field(description="The first turn's text.")
    rows: int
    positives: int
    splits: dict[Split, int]
    ids: tuple[str, ...] = Field(description=f"The first {_LISTED_IDS} turns' ids.")


class DuplicateCounts(Contract):
    """What one kind of duplicate amounts to."""

    groups: int
    rows: int = Field(description="Rows in these groups.")
    extra: int = Field(description="Rows beyond the first of each group.")
    contradicting: int = Field(description="Groups that hold both labels.")
    across_splits: int = Field(description="Groups with rows in more than one split.")
    largest: tuple[DuplicateGroup, ...]
    contradictions: tuple[DuplicateGroup, ...] = Field(description="The largest groups that hold both labels.")


class DuplicateReport(Contract):
    """Exact and near duplicates; a near group may hold exact ones too, but not only those."""

    rows: int
    distinct: int = Field(description="Different texts, case and punctuation aside.")
    near_overlap: float
    exact: DuplicateCounts
    near: DuplicateCounts


def find_duplicates(
    rows: Sequence[Row],
    *,
    near_overlap: float = 0.7,
    listed: int = 20,
    seed: int = 42,
    progress: Progress | None = None,
) -> DuplicateReport:
    """Group rows by the words of their targets, exactly and nearly; `listed` groups of each kind are shown."""
    first_with: dict[str, int] = {}
    text_of = np.array([first_with.setdefault(same_text(row.text), len(first_with)) for row in rows], dtype=np.int64)
    near_of = near_groups(list(first_with), near_overlap, seed=seed, progress=progress)
    exact = _members(text_of)
    near = [group for group in _members(near_of[text_of]) if len(set(text_of[group].tolist())) > 1]
    return DuplicateReport(
        rows=len(rows),
        distinct=len(first_with),
        near_overlap=near_overlap,
        exact=_counts(rows, exact, listed),
        near=_counts(rows, near, listed),
    )


def near_groups(
    texts: Sequence[str], near_overlap: float, *, seed: int = 42, progress: Progress | None = None
) -> Positions:
    """For each text the smallest index among the texts that it is linked to by near duplicates, itself included."""
    group = np.arange(len(texts), dtype=np.int64)
    shingles, owners = WordHasher()(texts, opening=_OPENING).grams(_SHINGLE)
    if not len(shingles):
        return group
    shingles, owners = _distinct(shingles, owners)
    starts = np.searchsorted(owners, np.arange(len(texts) + 1))
    filled = np.flatnonzero(np.diff(starts))
    signatures = _signatures(shingles, starts[filled], np.random.default_rng(seed), progress)
    pairs = filled[_candidates(signatures, near_overlap)]
    for chunk in _chunks(pairs):
        overlap = _overlaps(chunk, shingles, starts)
        for one, other in chunk[overlap >= near_overlap]:
            a, b = _root(group, one), _root(group, other)
            group[max(a, b)] = min(a, b)
    return np.array([_root(group, index) for index in range(len(texts))], dtype=np.int64)


def _distinct(shingles: Hashes, owners: Positions) -> tuple[Hashes, Positions]:
    """Each text's shingles as a sorted set."""
    order = np.lexsort((shingles, owners))
    shingles, owners = shingles[order], owners[order]
    fresh = np.ones(len(shingles), dtype=bool)
    fresh[1:] = (shingles[1:] != shingles[:-1]) | (owners[1:] != owners[:-1])
    return shingles[fresh], owners[fresh]


def _signatures(shingles: Hashes, starts: Positions, rng: np.random.Generator, progress: Progress | None) -> Signatures:
    """`U x 64`: the smallest multiply-shift hash of each text's shingles under each of 64 functions."""
    signatures = np.empty((len(starts), _PERMUTATIONS), dtype=np.uint32)
    factors = rng.integers(0, 2**64, size=(_PERMUTATIONS, 2), dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        for number, (factor, shift) in enumerate(factors):
            mixed = ((shingles * factor + shift) >> np.uint64(32)).astype(np.uint32)
            signatures[:, number] = np.minimum.reduceat(mixed, starts)
            if progress is not None:
                progress(number + 1, _PERMUTATIONS)
    return signatures


def _candidates(signatures: Signatures, near_overlap: float) -> Positions:
    """Pairs `P x 2` that share a band and whose signatures do not rule the overlap out."""
    found = [np.empty((0, 2), dtype=np.int64)]
    for band in np.split(signatures, _BANDS, axis=1):
        bucket = _one_hash(band)
        order = np.argsort(bucket, kind="stable")
        for pairs in _bucket_pairs(bucket[order]):
            found.append(order[pairs])
    both = np.sort(np.concatenate(found), axis=1)
    codes = np.unique(both[:, 0] * len(signatures) + both[:, 1])
    pairs = np.stack(np.divmod(codes, len(signatures)), axis=1)
    # Three standard deviations of a 64-value signature below the overlap asked for.
    least = near_overlap - 3 * (near_overlap * (1 - near_overlap) / _PERMUTATIONS) ** 0.5
    kept = [chunk[_alike(signatures, chunk) >= least] for chunk in _chunks(pairs)]
    return np.concatenate(kept) if kept else pairs


def _one_hash(band: Signatures) -> Hashes:
    """A hash for each row of a band; rows that differ collide once in 2^64."""
    mixed = np.zeros(len(band), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in band.T:
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + column
    return mixed


def _bucket_pairs(buckets: Hashes) -> Iterator[Positions]:
    """Positions of a sorted bucket list: each member with its next neighbours, and with the bucket's first."""
    positions = np.arange(len(buckets), dtype=np.int64)
    for distance in range(1, min(_NEIGHBOURS, len(buckets) - 1) + 1):
        same = np.flatnonzero(buckets[:-distance] == buckets[distance:])
        if not len(same):
            return
        yield np.stack([same, same + distance], axis=1)
    first = np.searchsorted(buckets, buckets)
    far = positions - first > _NEIGHBOURS
    yield np.stack([first[far], positions[far]], axis=1)


def _alike(signatures: Signatures, pairs: Positions) -> NDArray[np.float64]:
    return np.asarray((signatures[pairs[:, 0]] == signatures[pairs[:, 1]]).mean(axis=1), dtype=np.float64)


def _overlaps(pairs: Positions, shingles: Hashes, starts: Positions) -> NDArray[np.float64]:
    """Exact Jaccard overlap of each pair's shingle sets: equal neighbours after sorting both sets together."""
    sizes = np.diff(starts)[pairs]
    both = sizes.sum(axis=1)
    owner = np.repeat(np.arange(len(pairs)), both)
    index = ranges(starts[pairs].reshape(-1), sizes.reshape(-1))
    order = np.lexsort((shingles[index], owner))
    values, owner = shingles[index][order], owner[order]
    shared = np.bincount(owner[1:][(values[1:] == values[:-1]) & (owner[1:] == owner[:-1])], minlength=len(pairs))
    return np.asarray(shared / (both - shared), dtype=np.float64)


def _chunks(pairs: Positions) -> Iterator[Positions]:
    return (pairs[start : start + _PAIRS_AT_ONCE] for start in range(0, len(pairs), _PAIRS_AT_ONCE))


def _root(group: Positions, index: int) -> int:
    while group[index] != index:
        group[index] = group[group[index]]
        index = int(group[index])
    return index


def _members(group_of: Positions) -> list[Positions]:
    """Row numbers of each group of two or more, in order of the group's first row."""
    order = np.argsort(group_of, kind="stable")
    cuts = np.flatnonzero(np.diff(group_of[order])) + 1
    groups = [members for members in np.split(order, cuts) if len(members) > 1]
    return sorted(groups, key=lambda members: int(members[0]))


def _counts(rows: Sequence[Row], groups: Sequence[Positions], listed: int) -> DuplicateCounts:
    described = [_describe([rows[index] for index in members]) for members in groups]
    mixed = [group for group in described if 0 < group.positives < group.rows]
    return DuplicateCounts(
        groups=len(described),
        rows=sum(group.rows for group in described),
        extra=sum(group.rows - 1 for group in described),
        contradicting=len(mixed),
        across_splits=sum(len(group.splits) > 1 for group in described),
        largest=_largest(described, listed),
        contradictions=_largest(mixed, listed),
    )


def _describe(members: Sequence[Row]) -> DuplicateGroup:
    return DuplicateGroup(
        text=members[0].text,
        rows=len(members),
        positives=sum(row.label for row in members),
        splits=dict(Counter(row.split for row in members)),
        ids=tuple(row.id for row in members[:_LISTED_IDS]),
    )


def _largest(groups: Sequence[DuplicateGroup], listed: int) -> tuple[DuplicateGroup, ...]:
    return tuple(sorted(groups, key=lambda group: -group.rows)[:listed])
