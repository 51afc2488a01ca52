"""Candidates of one large scope, chosen by PostgreSQL; the runtime's own BM25 and cosine score them afterwards.

Words are those of the runtime's analysis, kept as a `tsvector` beside each record in a table that is derived: it is
caught up before a search, as the indexes in memory are. Records that hold the question's words are ordered by the
inverse document frequencies of those words, summed. Vectors are ordered by pgvector, exactly or through an HNSW index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import log1p
from typing import Literal

from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.surface import spoken
from engrain.runtime.storage import rows
from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.protocol import Delta, Vectors

VectorSearch = Literal["exact", "hnsw"]

_LONGEST_TERMS = 500_000
"""Bytes of terms that are kept of one record; a tsvector holds at most 1 MiB."""
_WORDS_OF_A_QUESTION = 64
_LARGEST_EF = 1_000
_CHUNK = 1_000
_STALE = """
SELECT key, version, source_speaker, content, reason, purpose, keywords FROM records
WHERE user_id = ? AND version > (SELECT coalesce(max(version), 0) FROM search_terms WHERE user_id = ?)
ORDER BY version, key FOR KEY SHARE
"""
_PUT = """
INSERT INTO search_terms (record_key, user_id, version, terms) VALUES (?, ?, ?, array_to_tsvector(?))
ON CONFLICT (record_key) DO UPDATE SET version = excluded.version, terms = excluded.terms
"""
# The sum keeps PostgreSQL from using the HNSW index, where there is one.
_EXACT = """
SELECT r.key FROM vectors v JOIN records r ON r.key = v.record_key
WHERE r.user_id = ? AND r.status IN (SELECT value FROM json_each(?)) ORDER BY (v.vector <#> ?) + 0.0, r.key LIMIT ?
"""
_SOURCES = "SELECT DISTINCT turn_key FROM record_sources WHERE record_key IN (SELECT value FROM json_each(?))"
_DRAWN = "SELECT DISTINCT record_key FROM record_sources WHERE turn_key IN (SELECT value FROM json_each(?))"
_SESSIONS = """
SELECT t.key, t.agent_id, t.run_id, t.session_id FROM turns t JOIN (
    SELECT DISTINCT agent_id, run_id, session_id FROM turns
    WHERE user_id = ? AND key IN (SELECT value FROM json_each(?))
) s ON s.session_id = t.session_id AND s.agent_id IS NOT DISTINCT FROM t.agent_id
    AND s.run_id IS NOT DISTINCT FROM t.run_id
WHERE t.user_id = ? ORDER BY t.agent_id, t.run_id, t.session_id, t.moment, t.key
"""
_HNSW = """
WITH near AS MATERIALIZED (
    SELECT record_key, vector <#> ? AS distance FROM vectors ORDER BY vector <#> ? LIMIT ?
)
SELECT r.key FROM near JOIN records r ON r.key = near.record_key
WHERE r.user_id = ? AND r.status IN (SELECT value FROM json_each(?)) ORDER BY near.distance, r.key LIMIT ?
"""


def prepare_search(connection: Connection, vector_search: VectorSearch) -> None:
    """Make what is missing of the derived table and of the HNSW index, inside a writing transaction."""
    if not _exists(connection, "search_terms"):
        connection.execute(
            "CREATE TABLE search_terms (record_key BIGINT PRIMARY KEY REFERENCES records (key) ON DELETE CASCADE, "
            "user_id TEXT NOT NULL, version BIGINT NOT NULL, terms tsvector NOT NULL)"
        )
        connection.execute("CREATE INDEX search_terms_version ON search_terms (user_id, version)")
        connection.execute("CREATE INDEX search_terms_words ON search_terms USING gin (terms)")
    if vector_search == "hnsw" and not _exists(connection, "vectors_hnsw"):
        connection.execute("CREATE INDEX vectors_hnsw ON vectors USING hnsw (vector vector_ip_ops)")


def catch_up(connection: Connection, user_id: str) -> None:
    """Take over what was written since the last search, inside a writing transaction."""
    stale = connection.execute(_STALE, (user_id, user_id)).fetchall()
    for start in range(0, len(stale), _CHUNK):
        values = [
            (key, user_id, version, _terms(spoken(speaker, "\n".join((*texts, *json.loads(keywords))))))
            for key, version, speaker, *texts, keywords in stale[start : start + _CHUNK]
        ]
        connection.executemany(_PUT, values)


def frequencies(connection: Connection, user_id: str, terms: Sequence[str]) -> dict[str, int]:
    """How many of a user's records hold each of the question's first words; words that none holds are left out."""
    sql = "SELECT count(*) FROM search_terms WHERE user_id = ? AND terms @@ ?::tsquery"
    known = list(dict.fromkeys(terms))[:_WORDS_OF_A_QUESTION]
    counts = {term: int(connection.execute(sql, (user_id, _quoted(term))).fetchone()[0]) for term in known}
    return {term: count for term, count in counts.items() if count}


def by_words(
    connection: Connection,
    user_id: str,
    counts: Mapping[str, int],
    documents: int,
    statuses: str,
    depth: int,
) -> list[int]:
    """Keys of the `depth` records that hold most of the question's information; `statuses` is a JSON list."""
    if not counts:
        return []
    gains = [log1p((documents - count + 0.5) / (count + 0.5)) for count in counts.values()]
    score = " + ".join(f"CASE WHEN s.terms @@ ?::tsquery THEN {gain:.6f} ELSE 0 END" for gain in gains)
    sql = (
        "SELECT r.key FROM search_terms s JOIN records r ON r.key = s.record_key WHERE s.user_id = ? "
        "AND r.status IN (SELECT value FROM json_each(?)) AND s.terms @@ ?::tsquery "
        f"ORDER BY {score} DESC, r.key LIMIT ?"
    )
    quoted = [_quoted(term) for term in counts]
    values = (user_id, statuses, " | ".join(quoted), *quoted, depth)
    return [row[0] for row in connection.execute(sql, values)]


def by_vector(
    connection: Connection, user_id: str, vector: Vectors, statuses: str, depth: int, ef_search: int | None
) -> list[int]:
    """Keys of the `depth` nearest records: exactly, or with `ef_search` through the HNSW index.

    The index holds all users. Where fewer than `depth` of those it finds are this user's, the answer is exact: whatever
    of a user's is among the nearest of all is among the nearest of the user's own, but not the other way round.
    """
    asked = connection.stored_vector(vector)
    if ef_search is not None:
        ef = min(_LARGEST_EF, max(ef_search, depth))
        connection.execute(f"SET LOCAL hnsw.ef_search = {ef}")
        found = connection.execute(_HNSW, (asked, asked, ef, user_id, statuses, depth)).fetchall()
        if len(found) == depth:
            return [row[0] for row in found]
    return [row[0] for row in connection.execute(_EXACT, (user_id, statuses, asked, depth))]


def surroundings(connection: Connection, user_id: str, keys: Sequence[int], reach: int, dimension: int) -> Delta:
    """Records by key, the turns within `reach` of their sources, and the records drawn from those."""
    sources = connection.execute(_SOURCES, (rows.as_json(list(keys)),)).fetchall()
    turns = _within_reach(connection, user_id, [key for (key,) in sources], reach)
    drawn = [key for (key,) in connection.execute(_DRAWN, (rows.as_json(turns),))]
    named = rows.as_json(sorted({*keys, *drawn}))
    found = connection.execute(rows.RECORDS_NAMED, (user_id, named)).fetchall()
    times = rows.source_times(connection, user_id, rows.replacing_ids(found))
    records = tuple(rows.indexed_record(row, times) for row in found)
    # A record can draw on a turn out of reach: it must be there, or the record would count as without a source.
    wanted = sorted({*turns, *(key for record in records for key in record.turn_keys)})
    indexed = tuple(map(rows.indexed_turn, connection.execute(rows.TURNS_NAMED, (user_id, rows.as_json(wanted)))))
    return Delta(1, rows.stacked_vectors(found, dimension), True, records, indexed)


def _within_reach(connection: Connection, user_id: str, turns: Sequence[int], reach: int) -> list[int]:
    """Keys of some turns and of those up to `reach` before and after them in their sessions."""
    places = connection.execute(_SESSIONS, (user_id, rows.as_json(list(turns)), user_id)).fetchall()
    wanted, chosen = set(turns), set(turns)
    for number, (key, *session) in enumerate(places):
        if key in wanted:
            near = places[max(0, number - reach) : number + reach + 1]
            chosen.update(other for other, *its in near if its == session)
    return sorted(chosen)


def _terms(text: str) -> list[str]:
    return list(_fitting(dict.fromkeys(index_terms(text))))


def _fitting(terms: Mapping[str, None]) -> Iterator[str]:
    room = _LONGEST_TERMS
    for term in terms:
        room -= len(term.encode())
        if room < 0:
            return
        yield term


def _quoted(term: str) -> str:
    """One lexeme in the words of a tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _exists(connection: Connection, relation: str) -> bool:
    sql = "SELECT count(*) FROM pg_class WHERE relname = ? AND relnamespace = current_schema()::regnamespace"
    return bool(connection.execute(sql, (relation,)).fetchone()[0])
