"""YAML and dotted overrides to one typed recipe object, all mistakes listed at once."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from engrain.recipes.config import RECIPES, Recipe
from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import RecipeError


def load_recipe(source: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and apply `key.path=value` overrides.

    `source` is a file, or the name of a shipped recipe such as `gate/memora-minilm`. Raises `RecipeError` with every
    mistake of the file and of the overrides: path, value, what is allowed.
    """
    path = _find(source)
    document = _read_yaml(path)
    problems = list(_apply_overrides(document, overrides))
    kind = document.get("recipe")
    model = RECIPES.get(str(kind))
    if model is None:
        allowed = ", ".join(sorted(RECIPES))
        problems.append(f"recipe: {kind!r} is not a kind of recipe; allowed: {allowed}")
        raise _error(path, problems)
    try:
        recipe = model.model_validate(document)
    except ValidationError as error:
        problems.extend(_describe(item, model) for item in error.errors())
        raise _error(path, problems) from None
    if problems:
        raise _error(path, problems)
    return recipe


def shipped_recipes() -> dict[str, Path]:
    """Every recipe that comes with the package, found recursively, by its name without `.yaml`."""
    root = Path(str(resources.files("engrain.recipes"))) / "configs"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def recipe_hash(recipe: Recipe) -> str:
    """SHA-256 of the resolved recipe; stored in checkpoints and bundles."""
    return text_hash(json.dumps(recipe.model_dump(mode="json"), sort_keys=True))


def _find(source: str | Path) -> Path:
    path = Path(source)
    if path.is_file():
        return path
    shipped = shipped_recipes()
    # A path such as recipes/configs/gate/x.yaml means the shipped recipe wherever the command is run.
    name = path.as_posix().removeprefix("recipes/configs/").removesuffix(".yaml")
    if name in shipped:
        return shipped[name]
    close = difflib.get_close_matches(name, shipped, n=1)
    hint = f"did you mean {close[0]}?" if close else f"shipped recipes: {', '.join(shipped)}"
    raise RecipeError(f"no recipe {source}: not a file, and no shipped recipe has that name; {hint}")


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is not UTF-8 text: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise RecipeError(f"{place}: not valid YAML: {getattr(error, 'problem', error)}") from None
    except (ValueError, RecursionError) as error:
        # A date that does not exist, or thousands of nested brackets.
        raise RecipeError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(document, dict):
        raise RecipeError(f"{path} holds {type(document).__name__}, not a mapping of keys to values")
    return document


def _apply_overrides(document: dict[str, Any], overrides: Sequence[str]) -> Iterator[str]:
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator or not all(key.split(".")):
            yield f"{override!r}: not an override; write key.path=value"
            continue
        try:
            value = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError):
            yield f"{key}: {text!r} is not a YAML value"
            continue
        problem = _set(document, key.split("."), value)
        if problem:
            yield f"{key}: {problem}"


def _set(document: dict[str, Any], keys: list[str], value: Any) -> str | None:
    place = document
    for depth, key in enumerate(keys[:-1], start=1):
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            return f"{'.'.join(keys[:depth])} is a value, not a section"
    place[keys[-1]] = value
    return None


def _describe(item: Any, model: type[BaseModel]) -> str:
    place = _Place.at(model, [str(part) for part in item["loc"]])
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(place.key, place.fields, n=1)
        hint = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(place.fields)}"
        return f"{place.path}: unknown key; {hint}"
    if item["type"] == "missing":
        return f"{place.path}: missing; add it to the recipe or give {place.path}=... on the command line"
    return f"{place.path}: {reprlib.repr(item['input'])}: {item['msg']}"


@dataclass(frozen=True)
class _Place:
    """Where a mistake is: the path as a person writes it, its last key, and the keys allowed beside it."""

    path: str
    key: str
    fields: list[str]

    @classmethod
    def at(cls, model: type[BaseModel], location: Sequence[str]) -> _Place:
        candidates, keys = [model], []
        for part in location[:-1]:
            tagged = [member for member in candidates if _tag(member) == part]
            if len(candidates) > 1 and tagged:
                # pydantic puts the chosen union member's tag into the location; no person writes it.
                candidates = tagged
                continue
            keys.append(part)
            annotations = [member.model_fields[part].annotation for member in candidates if part in member.model_fields]
            candidates = [nested for annotation in annotations for nested in _models_in(annotation)] or candidates
        keys.append(location[-1])
        fields = sorted({name for member in candidates for name in member.model_fields})
        return cls(".".join(keys), location[-1], fields)


def _tag(model: type[BaseModel]) -> Any:
    source = model.model_fields.get("source")
    return source.default if source else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _error(path: Path, problems: Sequence[str]) -> RecipeError:
    count = f"{len(problems)} mistake" + ("s" if len(problems) != 1 else "")
    lines = "\n".join(f"  {problem}" for problem in problems)
    return RecipeError(f"{path}: {count}\n{lines}")
