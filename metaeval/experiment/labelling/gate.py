"""A gate as a file, and what its fit and its check look at alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.files import sha256_json, write_text
from metaeval.labelling.items import Items
from metaeval.reading import read_object
from metaeval.report.result import checked
from metaeval.signature import versions
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.risk_control import Promise, design_effect

SCHEMA = "metaeval-gate/1"
Target = Literal["partial", "full"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a gate is to keep. Raises `UserError` for what is out of range.

    max_missed: most unsupported citations that are not flagged, which alpha may break; promise: with confidence, or
    "mean", on average. max_flagged: most supported ones that are. max_unsupported: most of a release. target: the
    lowest level that counts as supported.
    """

    max_missed: float = 0.1
    max_flagged: float = 0.5
    max_unsupported: float = 0.2
    alpha: float = 0.05
    target: str = "partial"
    promise: str = "confidence"

    def __post_init__(self) -> None:
        for name in ("max-missed", "max-flagged", "alpha"):
            if not 0 < (value := getattr(self, name.replace("-", "_"))) < 1:
                raise UserError(f"--{name} is {value:g}; allowed: above 0 and below 1.")
        check_allowed(self.max_unsupported)
        for name, allowed in (("target", get_args(Target)), ("promise", get_args(Promise))):
            if getattr(self, name) not in allowed:
                raise unknown(name, getattr(self, name), allowed)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Reference(_Strict):
    """What the fitting set looked like. quantiles: of the values, lowest first. effective: independent values."""

    quantiles: list[float]
    effective: float


class Gate(_Strict):
    """A fitted gate. Scores are turned so that higher is more support: an item below `threshold` is flagged.

    target: the lowest level that counts as supported. missed, flagged: shares of the unsupported that are not flagged
    and of the supported that are, in the labels; bound: the missed share is at most this with confidence 1 - alpha.
    With the promise "mean" bound is that of the mean, and alpha that of `check` alone. unsupported_labels,
    supported_labels: effective numbers. made: what the scores depend on, as in a signature.
    """

    schema_: Literal["metaeval-gate/1"] = Field(default="metaeval-gate/1", alias="schema")
    metric: str
    made: dict[str, str]
    settings: dict[str, Any]
    threshold: float
    target: Target
    max_missed: float
    max_flagged: float
    max_unsupported: float
    alpha: float
    promise: Promise = "confidence"
    bound: float
    missed: float
    flagged: float
    precision: float
    unsupported_labels: float
    supported_labels: float
    labels: str
    items: str
    labelled: int
    reference: dict[str, Reference]
    date: str
    hash: str = ""

    @property
    def content(self) -> str:
        """SHA-256 of all but the hash itself, and the promise that gates had before there was another."""
        left_out = {"hash", *(("promise",) if self.promise == "confidence" else ())}
        return sha256_json({key: value for key, value in self.model_dump(by_alias=True).items() if key not in left_out})


def write_gate(gate: Gate, path: Path) -> None:
    """Write a gate as JSON, whole or not at all."""
    write_text(path, json.dumps(gate.model_dump(by_alias=True), indent=1, ensure_ascii=False) + "\n")


def read_gate(path: Path) -> Gate:
    """Read a gate. Raises `UserError` for another file, and for one that was changed since it was fitted."""
    then = "give the file that 'metaeval gate fit -o' wrote"
    found = read_object(path, then)
    if found.get("schema") != SCHEMA:
        raise UserError(f"{path}: schema is {found.get('schema')!r}; this version reads {SCHEMA!r}: {then}.")
    gate = checked(Gate, found, path)
    if gate.hash != gate.content:
        raise UserError(f"{path} was changed since it was fitted (its hash does not fit): fit it again.")
    return gate


def check_allowed(max_unsupported: float) -> None:
    """Refuse what can be no share of unsupported citations that a release may have."""
    if not 0 <= max_unsupported < 1:
        raise UserError(f"--max-unsupported is {max_unsupported:g}; allowed: from 0, and below 1.")


def cleared(column: Column) -> Floats:
    """The scores, below all others where there is none: what cannot be vouched for is flagged."""
    return np.where(np.isnan(column.score), -np.inf, column.score)


def made_of(column: Column) -> dict[str, str]:
    """What the metric's scores depend on, beside the texts."""
    left_out = {"data", "unit", "evidence", "pool", "levels", "over-sources"}
    fields = {key: str(value) for key, value in column.fields.items() if key not in left_out}
    return {**fields, "metaeval": versions("metaeval")["metaeval"]}


def looks_of(items: Items, column: Column) -> dict[str, Floats]:
    """What drift is looked for in."""
    return {"score": np.where(np.isnan(column.score), np.nanmin(column.score), column.score), **items.lengths}


def effective_number(values: Floats, groups: Ints) -> float:
    """As how many independent values these tell, of which those of a group are alike."""
    return float(values.size / design_effect(values, groups, np.ones(values.size)))
