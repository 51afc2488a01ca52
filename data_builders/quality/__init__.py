"""Can a corpus be trusted: agreement, duplicates, leaks, label noise, balance, and one report a build."""
