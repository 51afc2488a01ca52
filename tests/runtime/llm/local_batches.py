"""The files and batches of the local server: uploads, batches that finish after some looks, downloads."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

Reply = tuple[int, bytes]


class Batches:
    """`looks` retrievals of a batch report `in_progress` before it is `completed`.

    `item_faults` (by marker) put a request into the error file (`status`), leave it out (`missing`) or make its line
    unreadable (`unreadable`); `refuse` makes every new batch fail. `lost_replies` counts creations that happen although
    the client gets a 500.
    """

    def __init__(self, service: Any) -> None:
        self.service = service
        self.looks = 2
        self.item_faults: dict[str, dict[str, Any]] = {}
        self.refuse = False
        self.lost_replies = 0
        self.final_status = "completed"
        self.faults: deque[tuple[str, int]] = deque()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer a request for a file or a batch."""
        name = f"{method} {path.split('/')[2] if path.count('/') > 1 else path}"
        self.calls.append(name)
        if self.faults and self.faults[0][0] == name:
            return self.faults.popleft()[1], b'{"error": {"message": "scripted"}}'
        parts = path.strip("/").split("/")[1:]
        if method == "POST" and parts == ["files"]:
            return self._upload(headers, body)
        if method == "GET" and parts[:1] == ["files"] and parts[2:] == ["content"] and parts[1] in self.files:
            return 200, self.files[parts[1]]
        if method == "POST" and parts == ["batches"]:
            return self._create(json.loads(body))
        if method == "GET" and parts == ["batches"]:
            return _json({"object": "list", "data": list(self.batches.values()), "has_more": False})
        if method == "GET" and parts[:1] == ["batches"] and parts[1] in self.batches:
            return self._retrieve(self.batches[parts[1]])
        return 404, b'{"error": {"message": "no such path"}}'

    def _upload(self, headers: dict[str, str], body: bytes) -> Reply:
        boundary = headers["content-type"].partition("boundary=")[2].encode()
        content = b""
        for part in body.split(b"--" + boundary):
            head, _, value = part.partition(b"\r\n\r\n")
            if b'name="file"' in head:
                content = value[:-2]
        identity = f"file-{len(self.files)}"
        self.files[identity] = content
        return _json({"id": identity, "object": "file", "purpose": "batch", "bytes": len(content)})

    def _create(self, body: dict[str, Any]) -> Reply:
        identity = f"batch-{len(self.batches)}"
        self.batches[identity] = {
            "id": identity,
            "object": "batch",
            "status": "failed" if self.refuse else "in_progress",
            "input_file_id": body["input_file_id"],
            "metadata": body.get("metadata"),
            "errors": {"data": [{"message": "the file is not to our taste"}]} if self.refuse else None,
            "looks": 0,
        }
        if self.lost_replies:
            self.lost_replies -= 1
            return 500, b'{"error": {"message": "the reply was lost"}}'
        return _json(self.batches[identity])

    def _retrieve(self, batch: dict[str, Any]) -> Reply:
        batch["looks"] += 1
        if batch["status"] == "in_progress" and batch["looks"] > self.looks:
            self._finish(batch)
        return _json(batch)

    def _finish(self, batch: dict[str, Any]) -> None:
        output, errors = [], []
        for line in self.files[batch["input_file_id"]].splitlines():
            item = json.loads(line)
            marker = item["body"]["messages"][-1]["content"]
            self.service.arrivals.append((0.0, marker))
            fault = self.item_faults.get(marker, {})
            if fault.get("kind") == "status":
                body = {"error": {"message": "scripted"}}
                errors.append(_line(item["custom_id"], fault["status"], body))
            elif fault.get("kind") == "unreadable":
                output.append(b'{"custom_id": "' + item["custom_id"].encode() + b'", "respon')
            elif fault.get("kind") != "missing":
                output.append(_line(item["custom_id"], 200, self.service.completion(item["body"], fault)))
        batch["status"] = self.final_status
        for name, lines in (("output_file_id", output), ("error_file_id", errors)):
            if lines:
                batch[name] = f"file-{len(self.files)}"
                self.files[batch[name]] = b"\n".join(lines) + b"\n"


def _line(custom_id: str, status: int, body: dict[str, Any]) -> bytes:
    return json.dumps(
        {"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None}
    ).encode()


def _json(document: dict[str, Any]) -> Reply:
    return 200, json.dumps(document).encode()
