"""How a conversation becomes the text that a causal LM reads.

One function, used to build training text, in evaluation and by the local extractor: what the model was tuned on is,
byte for byte, what it is asked with. The hash of the chat template travels in the extractor bundle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError

_RENDER_VERSION = "1"


class ChatTokenizer(Protocol):
    """What is needed of a tokenizer: its chat template and the function that applies it."""

    chat_template: Any

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """The conversation as one text when called with `tokenize=False`."""
        ...


def render_prompt(tokenizer: ChatTokenizer, messages: Sequence[dict[str, str]], *, thinking: bool = False) -> str:
    """The prompt up to where the model's answer starts. Special tokens are in the text: encode it without adding any.

    `thinking` is handed to templates that know it (Qwen3; DimMem tunes it with thinking off): off, such a template
    opens the answer with an empty think block, which therefore belongs to the prompt and never to what is learned.
    Templates without the option ignore it. Raises `InputError` when the tokenizer has no chat template.
    """
    _template_text(tokenizer)
    rendered = tokenizer.apply_chat_template(
        list(messages), tokenize=False, add_generation_prompt=True, enable_thinking=thinking
    )
    return str(rendered)


def chat_template_hash(tokenizer: ChatTokenizer, *, thinking: bool = False) -> str:
    """Hash of everything that decides the prompt's text apart from the messages."""
    return text_hash("extraction-render", _RENDER_VERSION, str(thinking), _template_text(tokenizer))


def _template_text(tokenizer: ChatTokenizer) -> str:
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default")
    if not template:
        raise InputError(
            "the tokenizer has no chat template, so it cannot be told apart what is asked and what is answered; "
            "use an instruction-tuned model, or put a chat_template.jinja into the model's folder"
        )
    return str(template)
