"""Filters on records: what a caller writes, validated, and what it means for one value.

    {"category": "work"}                                       equal
    {"stars": {"gte": 3, "lt": 5}, "tags": {"contains": "x"}}  all of them
    {"or": [{"place": {"in": ["Rome", "Oslo"]}}, {"not": {"done": True}}]}

Operators: eq, ne, in, gt, gte, lt, lte, contains (a word of a text in any case, or an entry of a list). A record
without the field satisfies `ne` and no other. Metadata keys are named as they are; those with the name of a field of
records are reached as `metadata.NAME`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engrain.runtime.errors import InputError
from engrain.runtime.timestamps import parse_timestamp

METADATA_PREFIX = "metadata."
RECORD_FIELDS = (
    "id",
    "session_id",
    "memory",
    "speaker",
    "memory_type",
    "time",
    "location",
    "keywords",
    "created_at",
    "ingested_at",
)
_TIME_FIELDS = frozenset({"created_at", "ingested_at"})
_JOINS = {"and": "and", "or": "or", "not": "not"}
_DEEPEST = 32
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_OPERATORS = ("eq", "ne", "in", *_ORDERS, "contains")


@dataclass(frozen=True, slots=True)
class Compare:
    """One field against one value."""

    field: str
    operator: str
    value: Any

    def holds(self, value: Any) -> bool:
        """Whether a record with this value of the field passes; None: it has none."""
        if self.operator == "ne":
            return not _same(value, self.value)
        if value is None:
            return False
        if self.operator == "eq":
            return _same(value, self.value)
        if self.operator == "in":
            return any(_same(value, wanted) for wanted in self.value)
        if self.operator == "contains":
            return _contains(value, self.value)
        return _comparable(value, self.value) and _ORDERS[self.operator](value, self.value)


@dataclass(frozen=True, slots=True)
class All:
    """Every part."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a part."""

    part: Condition


Condition = Compare | All | Either | Not


def parse_filter(filters: Mapping[str, Any] | None) -> Condition | None:
    """A validated condition; None when there is nothing to satisfy. Raises `InputError` naming the place."""
    if not filters:
        if filters is None or isinstance(filters, Mapping):
            return None
        raise InputError(f"filters: {filters!r} is no mapping of fields to conditions")
    return _mapping(filters, "filters", 0)


def _mapping(filters: object, place: str, depth: int) -> Condition:
    if depth > _DEEPEST:
        raise InputError(f"filters are nested deeper than {_DEEPEST} levels")
    if not isinstance(filters, Mapping) or not filters:
        raise InputError(f"{place}: {filters!r} is no mapping of fields to conditions")
    parts: list[Condition] = []
    for name, wanted in filters.items():
        if not isinstance(name, str):
            raise InputError(f"{place}: {name!r} is no field name")
        join = name.casefold()
        if join in _JOINS:
            parts.append(_joined(join, wanted, f"{place}.{name}", depth + 1))
        else:
            parts.extend(_field(name, wanted, f"{place}.{name}"))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _joined(join: str, wanted: object, place: str, depth: int) -> Condition:
    members = wanted if isinstance(wanted, Sequence) and not isinstance(wanted, str) else [wanted]
    if not members:
        raise InputError(f"{place}: the list is empty")
    parts = tuple(_mapping(member, f"{place}[{number}]", depth) for number, member in enumerate(members))
    if join == "or":
        return Either(parts)
    together = parts[0] if len(parts) == 1 else All(parts)
    return Not(together) if join == "not" else together


def _field(name: str, wanted: object, place: str) -> list[Condition]:
    if not isinstance(wanted, Mapping):
        return [Compare(name, "eq", _value(name, wanted, place))]
    if not wanted:
        raise InputError(f"{place}: no operator; use one of {', '.join(_OPERATORS)}")
    conditions: list[Condition] = []
    for asked, value in wanted.items():
        if asked not in _OPERATORS:
            raise InputError(f"{place}: the operator {asked!r} is unknown; use one of {', '.join(_OPERATORS)}")
        conditions.append(Compare(name, asked, _operand(name, asked, value, f"{place}.{asked}")))
    return conditions


def _operand(name: str, asked: str, value: object, place: str) -> Any:
    if asked == "in":
        if not isinstance(value, Sequence | set | frozenset) or isinstance(value, str):
            raise InputError(f"{place}: {value!r} is no list of values")
        return tuple(_value(name, member, place) for member in value)
    checked = _value(name, value, place)
    if asked in _ORDERS and (isinstance(checked, bool) or not isinstance(checked, str | int | float | datetime)):
        raise InputError(f"{place}: {value!r} has no order; give a number, a text or a time")
    return checked


def _value(name: str, value: object, place: str) -> Any:
    if name in _TIME_FIELDS and isinstance(value, str | datetime):
        moment = parse_timestamp(value, None) if isinstance(value, str) else value
        if moment.utcoffset() is None:
            raise InputError(f"{place}: {moment.isoformat()} has no time zone; add one")
        return moment
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{place}: {value} is no number that can be compared")
    if not isinstance(value, str | int | float | bool):
        raise InputError(f"{place}: {value!r} is no text, number or truth value")
    return value


def _same(value: Any, wanted: Any) -> bool:
    """Equal and of one kind: JSON's true is not its 1."""
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _comparable(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool):
        return False
    kinds = (str, int | float, datetime)
    return any(isinstance(value, kind) and isinstance(wanted, kind) for kind in kinds)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted.casefold() in value.casefold()
    return isinstance(value, list) and any(_same(member, wanted) for member in value)
