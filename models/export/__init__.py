"""Checkpoints to bundles that the runtime loads."""
