"""The model that writes claims again: its options, what asking it costs, and its replies, each kept and paid once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.aliice.rewriting import PLACES, Fragment, request_for
from metaeval.citation.chat.opening import estimate_for
from metaeval.citation.chat.options import ChatOptions
from metaeval.llm.budget import Estimate
from metaeval.llm.exchange import Prompt, read_prompt

_OWN = Path(__file__).parent / "prompts" / "rewriting.txt"


class RewriteOptions(ChatOptions):
    """What is asked of the model that rewrites claims."""

    prompt_file: Path | None = None
    """A prompt of your own that asks for a claim as a whole sentence, with {sentence} and {claim}, and {reply} for
    the form of the reply if wanted."""
    max_tokens: Annotated[int, Field(ge=1)] = 512
    """Most tokens in a reply, reasoning included; a reply that reaches it is unparsed."""

    def identity(self) -> dict[str, Any]:
        """The options that can change a claim and are in use, and which wording of the prompt."""
        wording = f"{'file' if self.prompt_file else 'own'}@{prompt_of(self).fingerprint}"
        used = {name: value for name, value in super().identity().items() if name != "prompt_file"}
        return {**used, "prompt": wording}


def prompt_of(options: RewriteOptions) -> Prompt:
    """The project's own prompt, or the file that was named; `UserError` when it cannot be read or lacks a place."""
    return read_prompt(options.prompt_file or _OWN, PLACES)


def estimated(cut: Sequence[Fragment], options: RewriteOptions) -> Estimate:
    """What having these claims written again would still cost; sends nothing, and needs no key."""
    prompt = prompt_of(options)
    return estimate_for([request_for(each, prompt, options) for each in cut], options)
