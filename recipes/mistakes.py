"""Every mistake of a recipe at once: the checks of single fields, and those of fields together behind them."""

from __future__ import annotations

import copy
import difflib
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

_PREFIXES = ("Value error, ", "Assertion failed, ")
_SHOWN_VALUE = 120
"""Characters of a wrong value; `reprlib` cuts its width, not its depth."""
R = TypeVar("R", bound=BaseModel)


def validate(model: type[R], document: dict[str, Any]) -> tuple[R | None, list[str]]:
    """Check a document; give the recipe, or nothing and one line a mistake: path, value, what is allowed.

    A rule over several fields is checked only where each field alone is right. So a wrong value is taken out and the
    rest checked again, until no new mistake appears: one run shows them all.
    """
    rest = copy.deepcopy(document)
    told: dict[tuple[str, ...], str] = {}
    while True:
        try:
            recipe = model.model_validate(rest)
        except ValidationError as error:
            # A wrong value that was taken out is not also missing: each place is told once.
            fresh = [item for item in error.errors() if _Place.of(item, model).keys not in told]
            told.update({_Place.of(item, model).keys: _describe(item, model) for item in fresh})
            mended = [_mend(rest, item, model) for item in fresh]
            if not any(mended):
                return None, list(told.values())
        else:
            return (None if told else recipe), list(told.values())


def _mend(document: dict[str, Any], item: Any, model: type[BaseModel]) -> bool:
    """Take the wrong value out, or put the nearest allowed name in its place; False where nothing can be done."""
    keys = _Place.of(item, model).keys
    # A rule over the recipe's own fields names no single value to take out.
    if item["type"] == "missing" or not keys:
        return False
    if item["type"] == "union_tag_invalid":
        allowed = [tag.strip(" '") for tag in item["ctx"]["expected_tags"].split(",")]
        close = difflib.get_close_matches(str(item["ctx"]["tag"]), allowed, n=1)
        section = _section(document, keys)
        if not close or section is None:
            return False
        section[item["ctx"]["discriminator"].strip("'")] = close[0]
        return True
    section = _section(document, keys[:-1])
    return section is not None and section.pop(keys[-1], None) is not None


def _section(document: Any, keys: Sequence[str]) -> dict[str, Any] | None:
    place = document
    for key in keys:
        place = place.get(key) if isinstance(place, dict) else None
    return place if isinstance(place, dict) else None


def _describe(item: Any, model: type[BaseModel]) -> str:
    place = _Place.of(item, model)
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(place.key, place.fields, n=1)
        hint = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(place.fields)}"
        return f"{place.path}: unknown key; {hint}"
    if item["type"] == "missing":
        return f"{place.path}: missing; add it to the recipe or give {place.path}=... on the command line"
    message = item["msg"]
    for prefix in _PREFIXES:
        message = message.removeprefix(prefix)
    value = f"{reprlib.repr(item['input'])[:_SHOWN_VALUE]}: " if place.keys else ""
    return f"{place.path}: {value}{message}"


@dataclass(frozen=True)
class _Place:
    """Where a mistake is: the keys as a person writes them, and the names allowed beside the last one."""

    keys: tuple[str, ...]
    fields: list[str]

    @property
    def path(self) -> str:
        return ".".join(self.keys) or "recipe"

    @property
    def key(self) -> str:
        return self.keys[-1]

    @classmethod
    def of(cls, item: Any, model: type[BaseModel]) -> _Place:
        """The place of one pydantic error in `model`."""
        candidates, keys, fields = [model], [], sorted(model.model_fields)
        for part in map(str, item["loc"]):
            tagged = [member for member in candidates if _tag(member) == part]
            if len(candidates) > 1 and tagged:
                # pydantic puts the chosen union member's tag into the location; no person writes it.
                candidates = tagged
                continue
            keys.append(part)
            fields = sorted({name for member in candidates for name in member.model_fields})
            annotations = [member.model_fields[part].annotation for member in candidates if part in member.model_fields]
            candidates = [nested for annotation in annotations for nested in _models_in(annotation)] or candidates
        return cls(tuple(keys), fields)


def _tag(model: type[BaseModel]) -> Any:
    source = model.model_fields.get("source")
    return source.default if source else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
