"""Context attribution: what a statement rests on, and so whether it needs a citation."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions

CONTEXTS: Mapping[int, str] = {1: "query", 2: "retrieval", 3: "response", 4: "model"}
"""The four contexts, under the numbers that the official prompt gives them.

query: the user's own words. retrieval: the passages. response: what the response said before, or says of itself.
model: what the model knows without any of them.
"""

RETRIEVAL = 2


def context_of(judged: int | None, options: CiteEvalOptions = PAPER) -> int | None:
    """The context of a statement, where the judge named it or the options fill it in; None: missing."""
    if judged is None and options.missing_context == "retrieval":
        return RETRIEVAL
    return judged


def needs_citation(context: int | None) -> bool | None:
    """Whether a statement without a citation lacks one: if it rests on the passages; None where the context is missing.

    A statement that has citations is judged by them, whatever it rests on.
    """
    return None if context is None else context == RETRIEVAL
