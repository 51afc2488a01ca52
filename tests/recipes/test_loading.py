"""Recipes: every shipped one loads and plans, and a bad one lists all its mistakes at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from engrain.recipes.config import RECIPES, GateRecipe
from engrain.recipes.loading import load_recipe, recipe_hash, shipped_recipes
from engrain.runtime.errors import RecipeError

GATE = "gate/modernbert-paper"


def mistakes(source: str | Path, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        load_recipe(source, overrides)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def test_shipped_recipes_are_found_recursively() -> None:
    folder = Path(__file__).parents[2] / "recipes" / "configs"
    on_disk = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")}
    assert set(shipped_recipes()) == on_disk
    assert {name.split("/")[0] for name in on_disk} == set(RECIPES)


@pytest.mark.parametrize("name", sorted(shipped_recipes()))
def test_every_shipped_recipe_loads_and_says_how_to_launch_it(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.recipe == name.split("/")[0]
    header = shipped_recipes()[name].read_text(encoding="utf-8").split("recipe:")[0]
    assert all(word in header for word in ("# download", "# launch", "# override"))


def test_the_paper_recipe_holds_the_papers_values() -> None:
    recipe = load_recipe(GATE)
    assert isinstance(recipe, GateRecipe)
    training = recipe.training
    assert (training.learning_rate, training.weight_decay, training.warmup_ratio) == (2e-5, 0.01, 0.1)
    assert (training.batch_size, training.accumulate, training.epochs, training.evaluate_every) == (4, 4, 10, 50)
    assert (recipe.model.k, recipe.model.max_length, recipe.threshold.value) == (1, 512, 0.2)
    assert recipe.seeds == (20260726, 20260727, 20260728)


def test_a_path_below_the_repository_means_the_shipped_recipe_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe("recipes/configs/gate/modernbert-paper.yaml") == load_recipe(GATE)


def test_overrides_are_typed_and_change_the_hash() -> None:
    plain, changed = load_recipe(GATE), load_recipe(GATE, ["training.epochs=2", "seeds=[1, 2]", "data.root=a b"])
    assert isinstance(changed, GateRecipe)
    assert (changed.training.epochs, changed.seeds) == (2, (1, 2))
    assert recipe_hash(plain) != recipe_hash(changed)
    assert recipe_hash(plain) == recipe_hash(load_recipe(GATE))


def test_three_mistakes_are_three_lines_with_path_value_and_what_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "recipe: gate\nname: x\ndata: {source: shipped}\nmodel: {pooling: max, kk: 3}\ntraining: {epochs: 0}\n"
    )
    lines = mistakes(path)
    assert len(lines) == 3
    assert any("model.pooling: 'max'" in line and "'cls', 'mean' or 'target'" in line for line in lines)
    assert any("model.kk: unknown key; did you mean k?" in line for line in lines)
    assert any("training.epochs: 0" in line and "greater than or equal to 1" in line for line in lines)


def test_mistakes_of_file_and_overrides_come_together_without_union_tags() -> None:
    lines = mistakes(GATE, "nonsense", "data.rows=1", "name=../up", "threshold.value=2")
    assert len(lines) == 4
    assert lines[0].startswith("'nonsense': not an override")
    assert any(line.startswith("data.rows: unknown key; allowed:") and "rows_per_persona" in line for line in lines)
    assert any(line.startswith("name: '../up'") for line in lines)
    assert any(line.startswith("threshold.value: 2") for line in lines)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("recipe: [gate", "line 1: not valid YAML"),
        ("- a\n- b\n", "holds list, not a mapping"),
        ("recipe: gat\n", f"recipe: 'gat' is not a kind of recipe; allowed: {', '.join(sorted(RECIPES))}"),
        ("recipe: gate\n", "name: missing"),
        ("recipe: gate\n[a, b]: 1\n", "line 2: not valid YAML"),
        ("recipe: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
    ],
)
def test_a_broken_file_names_its_place(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(content)
    with pytest.raises(RecipeError) as caught:
        load_recipe(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_unknown_recipe_suggests_the_nearest() -> None:
    with pytest.raises(RecipeError, match="did you mean gate/modernbert-paper"):
        load_recipe("gate/modernbert-papr")


def test_a_key_written_twice_in_an_override_is_refused() -> None:
    assert mistakes(GATE, "training={epochs: 1, epochs: 2}") == [
        "training: '{epochs: 1, epochs: 2}' is not a YAML value"
    ]


def test_an_override_below_a_value_is_refused() -> None:
    assert mistakes(GATE, "name.first=x") == ["name.first: name is a value, not a section"]


def test_a_rule_over_several_fields_is_told_beside_the_mistakes_of_single_fields(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "recipe: gate\nname: x\nseeds: [1, 1]\ntraining: {epochs: 0}\n"
        "data: {source: memroa, rows_per_persona: 0, split: weekly, evaluate_split: weekly}\n"
    )
    lines = mistakes(path)
    assert any(line.startswith("data: ") and "memroa" in line and "'memora'" in line for line in lines)
    assert any(line.startswith("data.rows_per_persona: 0") for line in lines)
    assert any(line.startswith("seeds: [1, 1]: a seed stands twice") for line in lines)
    assert any(line.startswith("training.epochs: 0") for line in lines)


def test_a_key_written_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("recipe: gate\nname: x\nname: y\n")
    with pytest.raises(RecipeError, match="line 3: not valid YAML: the key name stands twice"):
        load_recipe(path)
