"""Who is sending what right now: a claim keeps two callers from buying one answer and reserves its money.

A claim belongs to a process. It ends with the call; when its process is gone, or its lease has run out, the next
caller takes it over and logs the call as lost: it may have been billed.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import time
import uuid
from dataclasses import dataclass
from decimal import Decimal

# Tokens of the ledgers open in this process: tells a restarted container, with the same host and pid, from us.
_ours: set[str] = set()


@dataclass(frozen=True, slots=True)
class Account:
    """Where a call is booked."""

    endpoint: str
    endpoint_name: str
    stage: str
    teacher: str
    run: str


@dataclass(frozen=True, slots=True)
class Owner:
    """One open ledger of one process."""

    token: str
    host: str
    pid: int

    @classmethod
    def new(cls) -> Owner:
        """An owner for a ledger that this process opens."""
        owner = cls(uuid.uuid4().hex, socket.gethostname(), os.getpid())
        _ours.add(owner.token)
        return owner

    def retire(self) -> None:
        """Its claims may be taken over from now on."""
        _ours.discard(self.token)


def is_alive(token: str, host: str, pid: int) -> bool:
    """Whether the owner may still be working; when in doubt yes, and the lease decides."""
    if host != socket.gethostname() or os.name != "posix":
        return True
    if pid == os.getpid():
        return token in _ours
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def holder(connection: sqlite3.Connection, request_hash: str, endpoint: str, owner: Owner) -> str | None:
    """Describe the live claim on a request, or None. A dead one is logged as lost and removed."""
    row = connection.execute(
        "SELECT owner, host, pid, expires_at FROM claims WHERE request_hash = ? AND endpoint = ?",
        (request_hash, endpoint),
    ).fetchone()
    if row is None:
        return None
    token, host, pid, expires_at = row
    if expires_at > time.time() and (token == owner.token or is_alive(token, host, pid)):
        return f"process {pid} on {host}"
    log_lost(connection, "request_hash = ? AND endpoint = ?", (request_hash, endpoint))
    return None


def reap(connection: sqlite3.Connection) -> None:
    """Log and remove every claim whose process is gone or whose lease has run out."""
    rows = connection.execute("SELECT DISTINCT owner, host, pid FROM claims").fetchall()
    for token, host, pid in rows:
        if not is_alive(token, host, pid):
            log_lost(connection, "owner = ?", (token,))
    log_lost(connection, "expires_at <= ?", (time.time(),))


def log_lost(connection: sqlite3.Connection, where: str, values: tuple[object, ...]) -> None:
    """Turn claims into attempts with the outcome `lost`."""
    connection.execute(
        "INSERT INTO attempts (request_hash, endpoint, endpoint_name, stage, teacher, run, outcome, detail, "
        "created_at) SELECT request_hash, endpoint, endpoint_name, stage, teacher, run, 'lost', "
        f"'sent by process ' || pid || ', no answer recorded', strftime('%Y-%m-%dT%H:%M:%SZ', 'now') FROM claims "
        f"WHERE {where}",
        values,
    )
    connection.execute(f"DELETE FROM claims WHERE {where}", values)


def put_if_free(
    connection: sqlite3.Connection,
    request_hash: str,
    account: Account,
    owner: Owner,
    reserved: Decimal,
    lease_s: float,
) -> bool:
    """Claim a request that has no answer, no claim and no batch, in one statement; False when it has any."""
    added = connection.execute(
        "INSERT INTO claims SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 "
        "WHERE NOT EXISTS (SELECT 1 FROM answers WHERE request_hash = ?1 AND endpoint = ?2) "
        "AND NOT EXISTS (SELECT 1 FROM claims WHERE request_hash = ?1 AND endpoint = ?2) "
        "AND NOT EXISTS (SELECT 1 FROM batch_items WHERE request_hash = ?1 AND endpoint = ?2)",
        _row(request_hash, account, owner, reserved, lease_s),
    )
    return added.rowcount > 0


def put(
    connection: sqlite3.Connection,
    request_hash: str,
    account: Account,
    owner: Owner,
    reserved: Decimal,
    lease_s: float,
) -> None:
    """Claim a request that was found to be free."""
    connection.execute(
        "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _row(request_hash, account, owner, reserved, lease_s),
    )


def _row(request_hash: str, account: Account, owner: Owner, reserved: Decimal, lease_s: float) -> tuple[object, ...]:
    return (
        *(request_hash, account.endpoint, account.endpoint_name, account.stage, account.teacher, account.run),
        *(owner.token, owner.host, owner.pid, str(reserved), time.time() + lease_s),
    )


def drop(connection: sqlite3.Connection, request_hash: str, endpoint: str, owner: Owner) -> None:
    """End a claim of one's own."""
    connection.execute(
        "DELETE FROM claims WHERE request_hash = ? AND endpoint = ? AND owner = ?",
        (request_hash, endpoint, owner.token),
    )


def reserved(connection: sqlite3.Connection, run: str) -> Decimal:
    """USD reserved for the calls of a run that are in flight, in every process."""
    rows = connection.execute("SELECT reserved_usd FROM claims WHERE run = ?", (run,))
    return sum((Decimal(text) for (text,) in rows), Decimal(0))


def take_lease(connection: sqlite3.Connection, name: str, owner: Owner, lease_s: float) -> bool:
    """Take or renew a named lease; False while another live process has it."""
    row = connection.execute("SELECT owner, host, pid, expires_at FROM leases WHERE name = ?", (name,)).fetchone()
    if row is not None:
        token, host, pid, expires_at = row
        if token != owner.token and expires_at > time.time() and is_alive(token, host, pid):
            return False
    connection.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
        (name, owner.token, owner.host, owner.pid, time.time() + lease_s),
    )
    return True


def drop_lease(connection: sqlite3.Connection, name: str, owner: Owner) -> None:
    """Give a lease back."""
    connection.execute("DELETE FROM leases WHERE name = ? AND owner = ?", (name, owner.token))
