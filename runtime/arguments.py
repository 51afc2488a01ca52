"""Checks of arguments that several verbs of a memory share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engrain.runtime.errors import InputError

DEFAULT_TOP_K = 10


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
    return budget


def check_page(limit: int | None, offset: int) -> None:
    """Raises `InputError` for a limit below 1 or an offset below 0."""
    if (limit is not None and limit < 1) or offset < 0:
        raise InputError(f"limit {limit} and offset {offset}: the first must be at least 1, the second at least 0")


def check_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of what JSON can hold. Raises `InputError` for anything else, NaN among it."""
    try:
        copied = json.loads(json.dumps(dict(metadata or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"metadata cannot be written as JSON: {error}") from None
    return dict(copied)
