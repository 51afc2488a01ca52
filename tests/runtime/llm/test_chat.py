"""The hash of a request, and what it may and may not depend on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from engrain.runtime.errors import InputError
from engrain.runtime.llm.chat import NOT_HASHED, Call, ChatRequest, request_hash
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.prepare import prepare

BASE: dict[str, Any] = {"name": "a", "base_url": "http://h/v1", "model": "m"}
HASHED_SETTINGS = {
    "identity": "other",
    "model": "other",
    "max_tokens_field": "max_completion_tokens",
    "extra_body": {"thinking": {"type": "disabled"}},
}
UNHASHED_SETTINGS: dict[str, Any] = {
    "name": "b",
    "api_key_env": "SOME_KEY",
    "requests_per_minute": 5,
    "tokens_per_minute": 5000,
    "window_s": 1.0,
    "concurrency": 3,
    "timeout_s": 1.0,
    "max_attempts": 2,
    "backoff_s": 0.5,
    "backoff_cap_s": 3.0,
    "usd_per_million_input": "1",
    "usd_per_million_output": "2",
    "batch_price_factor": "0.5",
    "max_failure_share": 0.1,
    "failures_judged_over": 7,
}


def hash_with(call: Call, **settings: Any) -> str:
    return prepare(EndpointSettings(**BASE | settings), call, "run").request_hash


def test_every_field_is_hashed_or_listed_as_not(make_call: Callable[..., Call]) -> None:
    call = make_call("hello")
    reference = hash_with(call)
    for name, value in HASHED_SETTINGS.items():
        assert hash_with(call, **{name: value}) != reference, name
    for name, value in UNHASHED_SETTINGS.items():
        assert hash_with(call, **{name: value}) == reference, name
    fields = set(EndpointSettings.model_fields)
    assert set(HASHED_SETTINGS) | (set(NOT_HASHED) & fields) == fields
    assert set(UNHASHED_SETTINGS) | {"base_url"} == set(NOT_HASHED) & fields
    assert {field.name for field in dataclasses.fields(Call)} == {"request"} | (set(NOT_HASHED) - fields)


def test_base_url_counts_unless_an_identity_is_given(make_call: Callable[..., Call]) -> None:
    call = make_call("hello")
    assert hash_with(call) != hash_with(call, base_url="http://other/v1")
    assert hash_with(call, base_url="http://h/v1/") == hash_with(call)
    assert hash_with(call, identity="x") == hash_with(call, identity="x", base_url="http://other/v1")


def test_every_request_field_changes_the_hash() -> None:
    message = {"role": "user", "content": "hello"}
    request = ChatRequest(messages=(message,), model="m")
    changes: dict[str, Any] = {
        "messages": (message, message),
        "model": "n",
        "temperature": 0.5,
        "top_p": 0.5,
        "max_tokens": 3,
        "seed": 42,
        "json_object": True,
        "extra_body": {"a": 1},
        "draw": 1,
    }
    assert set(changes) == set(ChatRequest.model_fields)

    def hashed(one: ChatRequest) -> str:
        return request_hash(one.body(), "e", one.draw)

    variants = [request, *(ChatRequest(**request.model_dump() | {name: value}) for name, value in changes.items())]
    assert len({hashed(one) for one in variants}) == len(variants)


def test_the_hash_does_not_drift() -> None:
    """A ledger of last year must still be found: this value changes only together with HASH_VERSION."""
    request = ChatRequest(messages=({"role": "user", "content": "héllo"},), model="m", max_tokens=5, json_object=True)
    expected = "00091698f6a1d48ea8583d777d30945d607e1e03f9336236697cb4b80d468280"
    assert request_hash(request.body(), "http://h/v1") == expected


def test_body_leaves_out_what_is_not_set_and_extra_body_wins() -> None:
    request = ChatRequest(
        messages=({"role": "user", "content": "x"},),
        model="m",
        temperature=None,
        extra_body={"seed": 7, "k": [1]},
        seed=1,
    )
    assert request.body() == {"model": "m", "messages": [{"role": "user", "content": "x"}], "seed": 7, "k": [1]}
    limited = request.model_copy(update={"max_tokens": 4})
    assert limited.body("max_completion_tokens")["max_completion_tokens"] == 4


def test_text_that_no_provider_accepts_is_refused_at_once() -> None:
    with pytest.raises(ValidationError):
        ChatRequest(messages=({"role": "user", "content": "half a pair \ud800"},))
    with pytest.raises(ValidationError):
        ChatRequest(messages=())


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = EndpointSettings(**BASE | {"api_key_env": "TEACHER_KEY"})
    monkeypatch.delenv("TEACHER_KEY", raising=False)
    with pytest.raises(InputError, match="environment variable TEACHER_KEY"):
        settings.api_key()
    monkeypatch.setenv("TEACHER_KEY", "  ")
    with pytest.raises(InputError, match="TEACHER_KEY"):
        settings.api_key()
    monkeypatch.setenv("TEACHER_KEY", "secret")
    assert settings.api_key() == "secret"
    assert "secret" not in repr(settings) + settings.model_dump_json()


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValidationError, match="write http"):
        EndpointSettings(**BASE | {"base_url": "localhost:8000/v1"})


def test_prices_from_yaml_are_exact() -> None:
    assert str(EndpointSettings(**BASE | {"usd_per_million_input": 0.15}).usd_per_million_input) == "0.15"
