"""The prompts that signatures name by the hash of their wording: what each asks, and whether it is the wording here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from metaeval.citation.aliice.rewriter import RewriteOptions, prompt_of
from metaeval.citation.citeeval.asking import Asking, part_prompt
from metaeval.citation.citeeval.asking import load_prompts as judging_prompts
from metaeval.citation.citeeval.statement_questions import KINDS, LABEL
from metaeval.citation.generation.options import STRATEGIES, GenerationOptions
from metaeval.citation.generation.requests import load_prompts as writing_prompts
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.with_model import decomposition_prompt, mapping_prompt

OWN = "own@"
"""Before the hash of a prompt that comes with metaeval, where a signature tells it from a file's."""

_ASKS: Mapping[str, str] = {
    "attribution": "what each statement rests on",
    "editing": "which citations are to go and to come, and for a rating",
    "part": "about a part of a response (added to the other prompts)",
    "lqac_recall": "whether a statement's passages support it",
    "lqac_need": "whether a statement needs a citation",
    "lqac_precision": "whether one passage is relevant to a statement",
    "attrscore": "for a label of each citation",
    "answer": "for the answer",
    "summary": "for the summary of one document",
    "selection": "which documents are needed",
    "decomposition": "which facts a sentence states",
    "mapping": "where in a sentence a fact stands",
    "prompt": "for a claim as a whole sentence",
}
_FILES = frozenset("attribution editing answer summary selection decomposition mapping".split())


def prompt_words(name: str, value: str) -> str:
    """What a prompt asks, and whether a wording with this hash is here; empty for a prompt that is not known.

    value: the hash, behind `own@` or `file@` where the signature says so.
    """
    if name not in _ASKS:
        return ""
    wording = "a file's wording" if value.startswith("file@") else "another wording than metaeval has here"
    if is_here(name, value):
        wording = "in metaeval's own words"
    return f"the prompt that asks {_ASKS[name]}, {wording}"


def prompt_setting(name: str) -> str:
    """The option that puts another prompt in the place of this one; empty where there is none."""
    if name == "prompt":
        return "rewrite.prompt_file"
    return f"{name}_file" if name in _FILES else ""


def is_here(name: str, value: str) -> bool:
    """Whether the prompt that comes with metaeval has this wording."""
    return _shipped().get(name) == value.removeprefix(OWN)


@cache
def _shipped() -> Mapping[str, str]:
    """The hash of each wording, by the prompt's name."""
    prompts = [*judging_prompts(Asking(model="")).items(), ("part", part_prompt())]
    found = {str(name): prompt.fingerprint for name, prompt in prompts}
    found |= {kind.name: kind.prompt().fingerprint for kind in (*KINDS, LABEL)}
    for strategy in STRATEGIES:
        stages = writing_prompts(GenerationOptions(strategy=strategy))
        found |= {stage: prompt.fingerprint for stage, prompt in stages.items()}
    scifi = ScifiOptions()
    return {
        **found,
        "decomposition": decomposition_prompt(scifi).fingerprint,
        "mapping": mapping_prompt(scifi).fingerprint,
        "prompt": prompt_of(RewriteOptions()).fingerprint,
    }
