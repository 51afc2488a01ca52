"""Checks of arguments that several verbs of a memory share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engrain.runtime.errors import InputError
from engrain.runtime.ingest import check_identifier

DEFAULT_TOP_K = 10
_LARGEST = 2**31 - 1
_DEEPEST = 64


def check_query(query: object) -> str:
    """A question that is not empty, with lone surrogates replaced: a query is read, never stored."""
    if not isinstance(query, str) or not query.strip():
        raise InputError("the query is empty; ask a question")
    return query.encode("utf-8", "replace").decode("utf-8")


def check_budget(top_k: int | None, limit: int | None) -> int:
    """The number of hits, under either of its names. Raises `InputError` when it is below 1 or they contradict."""
    if top_k is not None and limit is not None and top_k != limit:
        raise InputError(f"top_k is {top_k} and limit is {limit}; they are two names of one thing, give one")
    budget = top_k if top_k is not None else limit if limit is not None else DEFAULT_TOP_K
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise InputError(f"top_k is {budget!r}; it must be a whole number of at least 1")
    return min(budget, _LARGEST)


def check_page(limit: int | None, offset: int) -> tuple[int | None, int]:
    """Limit and offset that a database takes: what is larger than any store is as good as no limit.

    Raises `InputError` for a limit below 1, an offset below 0, or anything that is no whole number.
    """
    for name, value, least in (("limit", 1 if limit is None else limit, 1), ("offset", offset, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return None if limit is None else min(limit, _LARGEST), min(offset, _LARGEST)


def check_identifiers(**named: str | None) -> None:
    """Raises `InputError` for an id that is empty, no text or not valid Unicode; None is for those left out."""
    for name, value in named.items():
        if value is not None or name == "record_id":
            check_identifier(name, value)


def check_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of what JSON can hold. Raises `InputError` for anything else: NaN, other keys than texts, broken Unicode,
    or more than 64 levels.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InputError(f"metadata is {type(metadata).__name__}; give a mapping of names to values")
    _check_names(metadata)
    try:
        text = json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"metadata holds a lone surrogate (U+{ord(error.object[error.start]):04X}); remove it"
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata cannot be written as JSON: {error}") from None
    return dict(json.loads(text))


def _check_names(metadata: Mapping[Any, Any]) -> None:
    level: list[Any] = [metadata]
    for _ in range(_DEEPEST):
        names = [name for value in level if isinstance(value, Mapping) for name in value]
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"metadata: the name {name!r} is {type(name).__name__}, not a text")
        level = [
            member
            for value in level
            if isinstance(value, Mapping | list | tuple)
            for member in (value.values() if isinstance(value, Mapping) else value)
        ]
        if not level:
            return
    raise InputError(f"metadata is nested deeper than {_DEEPEST} levels")
