"""What a corpus is, and which of its files are read: splits found, chosen, missing, or allowed to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engrain.data_builders.sources.hub import Hub
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role


@dataclass(frozen=True)
class Corpus:
    """What a corpus is and where its files lie.

    `files` maps a split to glob patterns below the root; the first pattern that finds anything is used. `defaults` are
    the splits that are read when none is named: the first alternative of which any part is there.
    """

    name: str
    licence: str
    citation: str
    home: str
    roles: Mapping[str, Role]
    files: Mapping[str, tuple[str, ...]]
    defaults: tuple[tuple[str, ...], ...] = ()
    hub: Hub | None = None
    dates: Literal["assigned", "either"] = "assigned"


def below(pattern: str) -> tuple[str, ...]:
    """`pattern` in the root, one folder below it, or two: where it lies in an archive, a clone or a data folder."""
    return pattern, f"*/{pattern}", f"*/*/{pattern}"


def choose_files(
    corpus: Corpus, root: Path | None, splits: Sequence[str] | None, allow_missing: tuple[str, ...]
) -> tuple[dict[str, list[Path]], tuple[str, ...]]:
    """Files of each split that is read, and the splits that were allowed to be missing."""
    unknown = [split for split in (*(splits or ()), *allow_missing) if split not in corpus.files]
    if unknown:
        raise InputError(f"{corpus.name} has no split {', '.join(unknown)}; it has {', '.join(corpus.files)}")
    if root is None:
        return _hub_splits(corpus, splits), ()
    if root.is_file():
        return {(splits or ("file",))[0]: [root]}, ()
    if not root.is_dir():
        raise InputError(
            f"{root} is no folder and no file; give the place of {corpus.name}, as its `root` in a recipe or as an "
            f"argument of the command; it is to be had from {corpus.home}"
        )
    found = {split: paths for split in corpus.files if (paths := find_files(root, corpus.files[split]))}
    wanted = tuple(splits) if splits else _default_splits(corpus, found)
    missing = tuple(split for split in wanted if split not in found)
    refused = [split for split in missing if split not in allow_missing]
    if refused or not found or not set(wanted) & set(found):
        raise InputError(_missing_files(corpus, root, refused or list(wanted), found))
    return {split: found[split] for split in wanted if split in found}, missing


def _default_splits(corpus: Corpus, found: Mapping[str, list[Path]]) -> tuple[str, ...]:
    for alternative in corpus.defaults:
        if present := tuple(split for split in alternative if split in found):
            return present
    return tuple(found) or tuple(corpus.files)


def find_files(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Files of the first pattern that finds any."""
    matches = (sorted(path for path in root.glob(pattern) if path.is_file()) for pattern in patterns)
    return next((paths for paths in matches if paths), [])


def _hub_splits(corpus: Corpus, splits: Sequence[str] | None) -> dict[str, list[Path]]:
    if corpus.hub is None:
        raise InputError(
            f"{corpus.name} is on no hub in its authors' layout; download it from {corpus.home} and give its folder"
        )
    wanted = tuple(splits) if splits else tuple(corpus.hub.splits)
    if missing := [split for split in wanted if split not in corpus.hub.splits]:
        raise InputError(
            f"{corpus.hub.name} has no split {', '.join(missing)}; it has {', '.join(corpus.hub.splits)}, "
            f"and the rest is to be had from {corpus.home}"
        )
    return {split: [] for split in wanted}


def _missing_files(corpus: Corpus, root: Path, missing: list[str], found: Mapping[str, list[Path]]) -> str:
    expected = "; ".join(f"{split}: {' or '.join(_shown(corpus.files[split]))}" for split in missing)
    here = sorted(path.name for path in root.iterdir())
    there = f"splits {', '.join(found)}" if found else f"{', '.join(here[:8])}{', …' if len(here) > 8 else ''}"
    return (
        f"{root}: {corpus.name} needs {expected}; found {there or 'an empty folder'}; "
        f"add the files (from {corpus.home}), or name the split in allow_missing"
    )


def _shown(patterns: tuple[str, ...]) -> list[str]:
    """Patterns without those that look for the same file further down."""
    return [pattern for pattern in patterns if not pattern.startswith("*/")]
