"""Calls to OpenAI-compatible models."""
