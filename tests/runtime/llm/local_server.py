"""A real OpenAI-compatible HTTP server for tests: cheap, scriptable, and it remembers what it was asked.

In a thread of the test (`LocalServer`) or in a process of its own (`ServerProcess`, `python local_server.py`), so
that it does not share a core's time with the client it measures. The last message's content is a request's marker.

A fault is a dict with `kind`: `status` (with `status`, optionally `retry_after`, `code`), `drop` (the connection
closes without a reply), `cut` (it closes in the middle of the reply), `malformed` (a body that is not JSON),
`wrong_shape` (JSON, but no completion), `nested` (brackets beyond any reader's depth), `truncated` (finish_reason
length), `prose` (text around the JSON), `no_usage`, `usage` (the counts in `usage`), `filtered` (content null,
finish_reason content_filter), `slow` (with `seconds`). Faults are taken in order of arrival; `faults_for` holds some
for one marker only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque
from pathlib import Path
from typing import Any

from local_batches import Batches

REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found"}


class Service:
    """What the server answers and what it has seen."""

    def __init__(self) -> None:
        self.latency_s = 0.0
        self.reply = '{"ok": true}'
        self.faults: deque[dict[str, Any]] = deque()
        self.faults_for: dict[str, deque[dict[str, Any]]] = {}
        self.arrivals: list[tuple[float, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.keep_bodies = True
        self.keys: set[str] = set()
        self.in_flight = self.most_in_flight = 0
        self.batches = Batches(self)

    def configure(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Set attributes; `clear` forgets the arrivals."""
        if changes.pop("clear", False):
            self.arrivals.clear()
            self.bodies.clear()
            self.most_in_flight = self.in_flight
        for name, value in changes.items():
            setattr(self, name, deque(value) if name == "faults" else value)
        return {"ok": True}

    def seen(self) -> dict[str, Any]:
        """What has arrived so far."""
        return {"arrivals": self.arrivals, "most_in_flight": self.most_in_flight}

    def take_fault(self, marker: str) -> dict[str, Any]:
        """The fault of the request that has just arrived; an empty dict for none."""
        if self.faults_for.get(marker):
            return self.faults_for[marker].popleft()
        return self.faults.popleft() if self.faults else {}

    def completion(self, body: dict[str, Any], fault: dict[str, Any]) -> dict[str, Any]:
        """The envelope of an answer."""
        marker = body["messages"][-1]["content"]
        text: str | None = self.reply.replace("{marker}", marker)
        finish = "stop"
        kind = fault.get("kind")
        if kind == "truncated":
            text, finish = (text or "")[: len(text or "") // 2], "length"
        elif kind == "prose":
            text = f"Sure, here it is:\n```json\n{text}\n```\nAnything else?"
        elif kind == "filtered":
            text, finish = None, "content_filter"
        words = sum(len(message["content"].split()) for message in body["messages"])
        document: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        }
        if kind != "no_usage":
            used = len((text or "").split())
            document["usage"] = {"prompt_tokens": words, "completion_tokens": used, "total_tokens": words + used}
        if kind == "usage":
            document["usage"] = fault["usage"]
        return document


class Connection(asyncio.Protocol):
    """One keep-alive HTTP/1.1 connection, parsed by hand: that leaves the cores to the client."""

    def __init__(self, service: Service) -> None:
        self.service, self.buffer = service, b""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, rest = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        method, path, _ = lines[0].split(" ")
        self.service.keys.add(headers.get("authorization", ""))
        self.handle(method, path.partition("?")[0], headers, rest[:length])

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        if path == "/v1/chat/completions":
            self.chat(json.loads(body))
        elif path == "/control":
            self.send(200, json.dumps(self.service.configure(json.loads(body))).encode())
        elif path == "/seen":
            self.send(200, json.dumps(self.service.seen()).encode())
        else:
            self.send(*self.service.batches.handle(method, path, headers, body))

    def chat(self, body: dict[str, Any]) -> None:
        service = self.service
        marker = body["messages"][-1]["content"]
        service.arrivals.append((time.monotonic(), marker))
        if service.keep_bodies:
            service.bodies.append(body)
        service.in_flight += 1
        service.most_in_flight = max(service.most_in_flight, service.in_flight)
        fault = service.take_fault(marker)
        delay = service.latency_s + (fault.get("seconds", 0.0) if fault.get("kind") == "slow" else 0.0)
        asyncio.get_running_loop().call_later(delay, self.answer, body, fault)

    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> None:
        self.service.in_flight -= 1
        kind = fault.get("kind")
        if kind == "drop":
            self.transport.abort()
        elif kind == "status":
            error = {"message": fault.get("message", "scripted"), "type": "scripted", "code": fault.get("code")}
            extra = f"Retry-After: {fault['retry_after']}\r\n" if "retry_after" in fault else ""
            self.send(fault["status"], json.dumps({"error": error}).encode(), extra)
        elif kind == "malformed":
            self.send(200, b'{"choices": [{"message": {"content": "paid for')
        elif kind == "wrong_shape":
            self.send(200, b'{"error": {"message": "upstream is busy"}}')
        elif kind == "nested":
            self.send(200, b"[" * 100_000)
        else:
            content = json.dumps(self.service.completion(body, fault)).encode()
            self.send(200, content, cut=kind == "cut")

    def send(self, status: int, content: bytes, extra: str = "", cut: bool = False) -> None:
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Scripted')}\r\nContent-Type: application/json\r\n{extra}"
        whole = f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
        self.transport.write(whole[: len(whole) // 2] if cut else whole)
        if cut:
            self.transport.close()


async def serve(service: Service, port: int) -> asyncio.Server:
    """Listen on the loopback address."""
    return await asyncio.get_running_loop().create_server(lambda: Connection(service), "127.0.0.1", port, backlog=4096)


class LocalServer:
    """The server in a thread, its `service` open to the test. Use as a context manager."""

    def __init__(self) -> None:
        self.service = Service()
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LocalServer:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *raised: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def markers(self) -> list[str]:
        """The markers that arrived, in order."""
        return [marker for _, marker in self.service.arrivals]

    def _run(self) -> None:
        server = self._loop.run_until_complete(serve(self.service, 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.close()


class ServerProcess:
    """The server in a process of its own, steered over HTTP. Use as a context manager."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def __enter__(self) -> ServerProcess:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.root = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.url = f"{self.root}/v1"
        self.control(keep_bodies=False, **self._settings)
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait()

    def control(self, **changes: Any) -> None:
        """Change settings of the service."""
        request = urllib.request.Request(f"{self.root}/control", json.dumps(changes).encode(), method="POST")
        urllib.request.urlopen(request).read()

    def seen(self) -> dict[str, Any]:
        """What has arrived so far."""
        with urllib.request.urlopen(f"{self.root}/seen") as reply:
            return dict(json.load(reply))


async def _main(port: int) -> None:
    server = await serve(Service(), port)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201  (the parent reads it)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_main(parser.parse_args().port))
