"""Lexical, dense and dimension routes, and their fusion."""
