"""YAML and dotted overrides to one typed recipe object, all mistakes listed at once."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from engrain.recipes.config import RECIPES, Recipe
from engrain.recipes.mistakes import validate
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
    recipe, mistakes = validate(model, document)
    problems.extend(mistakes)
    if recipe is None or problems:
        raise _error(path, problems)
    return recipe


def shipped_recipes() -> dict[str, Path]:
    """Every recipe that comes with the package, found recursively, by its name without `.yaml`."""
    root = Path(str(resources.files("engrain.recipes"))) / "configs"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def recipe_hash(recipe: Recipe) -> str:
    """SHA-256 of the resolved recipe; stored in checkpoints and bundles."""
    return text_hash(json.dumps(recipe.model_dump(mode="json"), sort_keys=True))


class _UniqueKeys(yaml.SafeLoader):
    """The safe loader, which also refuses a key that is written twice: plain YAML keeps the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, f"the key {name} stands twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


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
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
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
            value = yaml.load(text, Loader=_UniqueKeys)
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


def _error(path: Path, problems: Sequence[str]) -> RecipeError:
    count = f"{len(problems)} mistake" + ("s" if len(problems) != 1 else "")
    lines = "\n".join(f"  {problem}" for problem in problems)
    return RecipeError(f"{path}: {count}\n{lines}")
