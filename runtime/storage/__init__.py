"""Where turns and records are kept: a store protocol and its implementations."""
