"""Offline reconciliation of records, by status, never by rewriting."""
