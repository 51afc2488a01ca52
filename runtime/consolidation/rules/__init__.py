"""A relation classifier that needs no model: what a newer record takes back, and whether an older one says it."""
