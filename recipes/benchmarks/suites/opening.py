"""A benchmark by its name, restricted to what a recipe asks for."""

from __future__ import annotations

from collections.abc import Callable

from engrain.recipes.benchmarks.config import SuiteData
from engrain.recipes.benchmarks.suites import locomo, longmemeval, memora
from engrain.recipes.benchmarks.suites.suite import Suite
from engrain.runtime.errors import InputError

LOADERS: dict[str, Callable[[SuiteData], Suite]] = {
    "locomo": lambda data: locomo.load(data.root),
    "longmemeval": lambda data: longmemeval.load(data.root),
    "memora": lambda data: memora.load(data.root, data.split),
}


def open_suite(data: SuiteData) -> Suite:
    """The benchmark with the groups, the part and the number of questions that the recipe names.

    Raises `InputError` for a missing or cut file, and for groups that it does not have.
    """
    suite = LOADERS[data.benchmark](data)
    unknown = sorted(set(data.groups or ()) - set(suite.groups))
    if unknown:
        raise InputError(
            f"data.groups: {suite.name} has no {', '.join(unknown)}; it has {', '.join(suite.groups[:20])}"
        )
    groups = [
        group
        for group in suite.groups
        if (data.groups is None or group in data.groups) and data.part in ("all", suite.part_of(group))
    ]
    if not groups:
        raise InputError(f"data.part: nothing of {suite.name} is in the part '{data.part}'; choose all or other groups")
    return suite.restricted(groups, data.questions)
