"""The endpoint generator against a real local HTTP server that misbehaves as real ones do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("openai")

from engrain.runtime.errors import InputError, ModelServiceError
from engrain.runtime.llm.client import EndpointGenerator, retry_after

Step = Callable[[BaseHTTPRequestHandler], None]


def send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json", **headers: str
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def answer(text: str | None, finish: str = "stop") -> Step:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return lambda handler: send(handler, 200, json.dumps(body).encode())


def refuse(status: int, **headers: str) -> Step:
    body = json.dumps({"error": {"message": f"status {status}"}}).encode()
    return lambda handler: send(handler, status, body, **headers)


def raw(body: bytes, kind: str = "application/json") -> Step:
    return lambda handler: send(handler, 200, body, kind)


def drop(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.connection.close()


def late(seconds: float, then: Step) -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        then(handler)

    return step


class Server:
    """Plays a script for each question (the last user message); the last step repeats."""

    def __init__(self) -> None:
        self.script: dict[str, list[Step]] = {}
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.headers: list[dict[str, str]] = []
        self.running = self.most = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append(body)
                    outer.times.append(time.monotonic())
                    outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                    outer.running += 1
                    outer.most = max(outer.most, outer.running)
                    steps = outer.script[body["messages"][-1]["content"]]
                    step = steps.pop(0) if len(steps) > 1 else steps[0]
                try:
                    step(self)
                except OSError:
                    self.close_connection = True
                finally:
                    with outer.lock:
                        outer.running -= 1

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("TEST_MODEL_KEY", "secret-key")
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def generator(server: Server, **options: Any) -> EndpointGenerator:
    settings = {"api_key_env": "TEST_MODEL_KEY", "max_tokens": 64, "timeout_s": 5.0, "backoff_s": 0.01, **options}
    return EndpointGenerator(server.url, "m", **settings)


def ask(*questions: str) -> list[list[dict[str, str]]]:
    return [[{"role": "system", "content": "s"}, {"role": "user", "content": question}] for question in questions]


def test_answers_come_in_order_with_the_settings_asked_for(server: Server) -> None:
    server.script = {"slow": [late(0.2, answer("first"))], "fast": [answer("second")]}
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    answers = generator(server, extra=extra).generate(ask("slow", "fast"))
    assert [(one.text, one.finish_reason) for one in answers] == [("first", "stop"), ("second", "stop")]
    body = server.requests[0]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 64, 0.0)
    assert body["messages"] in ask("slow", "fast")
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert server.headers[0]["authorization"] == "Bearer secret-key"


def test_requests_run_together_but_no_more_than_allowed(server: Server) -> None:
    questions = [f"q{n}" for n in range(9)]
    server.script = {question: [late(0.1, answer(question))] for question in questions}
    answers = generator(server, concurrency=3).generate(ask(*questions))
    assert [one.text for one in answers] == questions
    assert server.most == 3


@pytest.mark.parametrize(
    "fault",
    [
        refuse(500),
        refuse(503),
        drop,
        raw(b'{"id": "1", "choices": ['),
        raw(b"<html>busy</html>", "text/html"),
        raw(b'{"choices": []}'),
        raw(b'"just text"'),
        raw(b"null"),
    ],
    ids=["500", "503", "dropped", "cut-json", "html", "no-choice", "text", "null"],
)
def test_what_may_pass_is_tried_again(server: Server, fault: Step) -> None:
    server.script = {"q": [fault, fault, answer("at last")]}
    assert generator(server).generate(ask("q"))[0].text == "at last"
    assert len(server.requests) == 3


def test_a_late_answer_times_out_and_is_tried_again(server: Server) -> None:
    server.script = {"q": [late(1.0, answer("too late")), answer("in time")]}
    assert generator(server, timeout_s=0.3).generate(ask("q"))[0].text == "in time"


def test_the_time_that_the_server_asks_for_is_waited(server: Server) -> None:
    server.script = {"q": [refuse(429, Retry_After="1"), answer("ok")]}
    assert generator(server).generate(ask("q"))[0].text == "ok"
    assert server.times[1] - server.times[0] >= 1.0


def test_a_very_long_wait_is_a_failure_at_once(server: Server) -> None:
    server.script = {"q": [refuse(429, Retry_After="86400")], "other": [answer("ok")]}
    started = time.monotonic()
    first, second = generator(server).generate(ask("q", "other"))
    assert (first.finish_reason, second.text) == ("error", "ok")
    assert "HTTP 429" in first.error and time.monotonic() - started < 5


def test_waits_grow(server: Server) -> None:
    server.script = {"q": [refuse(500), refuse(500), refuse(500), answer("ok")]}
    generator(server, backoff_s=0.2).generate(ask("q"))
    waits = [later - earlier for earlier, later in zip(server.times, server.times[1:], strict=False)]
    # Each wait is between a half and the whole of 0.2, 0.4, 0.8 seconds.
    assert waits[0] >= 0.1 and waits[1] >= 0.2 and waits[2] >= 0.4


def test_a_cut_answer_is_returned_and_not_bought_again(server: Server) -> None:
    server.script = {"q": [answer('{"memories":[', "length")]}
    (cut,) = generator(server).generate(ask("q"))
    assert (cut.text, cut.finish_reason) == ('{"memories":[', "length")
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [refuse(400), answer(None), answer("x", "content_filter")])
def test_one_failed_window_does_not_stop_the_others(server: Server, fault: Step) -> None:
    server.script = {"bad": [fault], "good": [answer("ok")]}
    bad, good = generator(server).generate(ask("bad", "good"))
    assert (bad.finish_reason, bad.text) == ("error", "")
    assert bad.error.endswith("(tried 1 times)")
    assert good.text == "ok"
    assert len(server.requests) == 2


def test_attempts_end(server: Server) -> None:
    server.script = {"bad": [refuse(500)], "good": [answer("ok")]}
    bad, _ = generator(server, attempts=3).generate(ask("bad", "good"))
    assert "HTTP 500" in bad.error and "tried 3 times" in bad.error
    assert len(server.requests) == 4


def test_a_service_that_answers_nothing_is_an_error(server: Server) -> None:
    server.script = {"a": [refuse(500)], "b": [drop]}
    with pytest.raises(ModelServiceError, match=r"m at http://127.*answered none of 2 requests"):
        generator(server, attempts=2).generate(ask("a", "b"))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_caller_who_is_refused_is_told_at_once(server: Server, status: int) -> None:
    server.script = {f"q{n}": [refuse(status)] for n in range(20)}
    with pytest.raises(ModelServiceError, match=f"HTTP {status}"):
        generator(server, concurrency=1).generate(ask(*server.script))
    assert len(server.requests) < 5


def test_a_missing_key_is_named_and_none_is_needed_without_a_name(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_MODEL_KEY")
    with pytest.raises(InputError, match="TEST_MODEL_KEY is not set"):
        generator(server)
    server.script = {"q": [answer("ok")]}
    assert generator(server, api_key_env="").generate(ask("q"))[0].text == "ok"
    assert generator(server, api_key_env="").generate([]) == []


def test_bad_settings_are_refused(server: Server) -> None:
    with pytest.raises(InputError, match="must be positive"):
        generator(server, concurrency=0)


def test_retry_after_in_all_its_forms() -> None:
    assert retry_after(None, 0.0) == 0.0
    assert retry_after("2.5", 0.0) == 2.5
    assert retry_after("-3", 0.0) == 0.0
    assert retry_after(formatdate(1000, usegmt=True), 990.0) == pytest.approx(10.0)
    assert retry_after("soon", 0.0) == 0.0
