"""Errors that a person can act on: what is wrong, where, and the way out."""


class EngrainError(Exception):
    """Base of every error that Engrain raises on purpose.

    `exit_code` is what the command line returns: 1 failed, 2 bad usage, recipe or input.
    """

    exit_code = 1


class InputError(EngrainError):
    """Bad input from the caller: a message, a file, an argument. The text names the place and the way out."""

    exit_code = 2


class RecipeError(EngrainError):
    """A recipe with one or more mistakes, all listed at once."""

    exit_code = 2


class BundleError(EngrainError):
    """A bundle that is missing, altered, of another format version or of another kind."""


class StoreError(EngrainError):
    """A memory file that cannot be opened or written as asked."""


class ModelServiceError(EngrainError):
    """A model endpoint that failed or answered outside its contract."""


class TrainingError(EngrainError):
    """Training that stopped; the text says where the last good checkpoint is and how to resume."""
