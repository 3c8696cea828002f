"""Options of the baselines that CiteEval is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.citeeval.statement_questions import Otherwise
from metaeval.errors import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOptions:
    """How the baselines are asked for and read; the defaults are of "paper"."""

    otherwise: Otherwise = "missing"
    """Label of a reply to AttrScore that gives none of the three labels: missing, or attributable."""
    baseline_max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Most tokens in a reply to a baseline's question, reasoning included."""


BASELINE_PROFILES: Mapping[str, BaselineOptions] = {
    "paper": BaselineOptions(),
    "released": BaselineOptions(otherwise="attributable"),
}
"""Under the names of CiteEval's own profiles."""


def baseline_options(profile: str = "paper", **changes: Any) -> BaselineOptions:
    """A profile with some options changed. Raises `UserError` on an unknown profile."""
    if profile not in BASELINE_PROFILES:
        raise unknown("profile", profile, BASELINE_PROFILES)
    return replace(BASELINE_PROFILES[profile], **changes)
