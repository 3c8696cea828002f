"""Who made the facts, in a line for signatures: a parser and its profile, or a model, its settings and its prompts."""

from __future__ import annotations

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.scifi.asking import decomposition_prompt, mapping_prompt
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.with_parser import PROFILE


def facts_signature(options: ScifiOptions, parser: Parser | None = None, chat: ChatOptions | None = None) -> str:
    """What the facts depend on beside the options' own signature and the splitter.

    Raises ValueError unless exactly one of parser and chat is given, and `UserError` for a prompt that cannot be read.
    """
    if parser is not None and chat is None:
        return f"aliice claims, profile {PROFILE.signature}, parser {parser.name}"
    if parser is not None or chat is None:
        raise ValueError("facts are made by a parser or by a chat model: give one of the two")
    settings = ", ".join(f"{name}={value}" for name, value in chat.identity().items())
    prompts = {
        "decomposition": (options.decomposition_file, decomposition_prompt(options)),
        "mapping": (options.mapping_file, mapping_prompt(options)),
    }
    wordings = ", ".join(
        f"{name}={'file' if file else 'own'}@{prompt.fingerprint}" for name, (file, prompt) in prompts.items()
    )
    return f"{settings}, {wordings}"
