"""`python -m engrain.recipes` is the `engrain` command."""

from engrain.recipes.cli import main

main()
