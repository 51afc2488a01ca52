"""Maps the four top-level folders into the namespace `engrain`; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

ROOMS = ("recipes", "data_builders", "models", "runtime")
setup(
    packages=[f"engrain.{name}" for room in ROOMS for name in (room, *(f"{room}.{p}" for p in find_packages(room)))],
    package_dir={f"engrain.{room}": room for room in ROOMS},
)
