"""Every choice that SCiFi's paper leaves open, by name, with the default that is taken."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from metaeval.citation.marks import MarkStyles
from metaeval.citation.sentences import Leading
from metaeval.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class ScifiOptions:
    """How answers become facts, facts get citations, and citations get values.

    Facts:
    facts: from the "parser" (ALiiCE's claims, no model), or from a chat "model".
    styles, leading: which marks are read, and what becomes of those that open a sentence.
    decomposition_file, mapping_file: prompts of one's own with {sentence}; with {sentence} and {fact}.
    marks: a chat model sees a sentence with its marks "removed", or as it was written, with its marks "kept"; those
        that its facts and segments then hold are cut out of them.
    likeness: a segment that does not stand in its sentence is looked for by likeness, from this ratio (0 to 1) on; 1:
        not at all.
    map_all: segments are asked for everywhere, even in sentences with one citation group or none, where they change
        nothing.
    twice: a segment that stands several times in its sentence is the "first" or the "last" of them.
    unmapped: a fact whose segment is not found counts with the whole "sentence" as its segment, or is "left out".

    Assignment:
    own_group: facts by the parser alone: a fact keeps the citation group that ALiiCE cut it out for, whatever is
        nearest; one that was cut out for several has all of them.
    distance: between a citation and the end of a fact's segment, in "characters" or "words" of the sentence without
        its marks.
    tie: which of two citations at the same distance is taken, the one "after" or "before" the segment's end.
    group: marks that stand together all belong to a fact, each passage by itself ("max"), as one premise ("joint"), or
        the "first" alone.
    out_of_range: a fact whose citations are no passages has the value 0 ("fails"), or is "left out".

    Entailment:
    window: white-space words of a chunk. window_unit: "words", or tokens of a tokenizer (its hub id or folder).
    overlap: the next chunk starts back by "half" of a chunk's sentences, or behind its last ("none").
    titles: every chunk opens with its passage's title.
    entailment: a fact's value is the backend's "probability", or the "binary" decision at its threshold; "auto": the
        probability where the backend's scores run from 0 to 1.
    average: the headline is over "facts", or over "answers".

    Coverage and density:
    coverage: premise is the "answer" and the reference's fact the hypothesis, or the other way round ("fact").
    density_over: sentences of the answer: "all", or "cited" ones.
    """

    facts: Literal["parser", "model"] = "parser"
    styles: MarkStyles = field(default_factory=MarkStyles)
    leading: Leading = "move all"
    decomposition_file: Path | None = None
    mapping_file: Path | None = None
    marks: Literal["removed", "kept"] = "removed"
    map_all: bool = False
    likeness: float = 0.8
    twice: Literal["first", "last"] = "first"
    unmapped: Literal["sentence", "left out"] = "sentence"
    own_group: bool = False
    distance: Literal["characters", "words"] = "characters"
    tie: Literal["after", "before"] = "after"
    group: Literal["max", "joint", "first"] = "max"
    out_of_range: Literal["fails", "left out"] = "fails"
    window: int = 256
    window_unit: str = "words"
    overlap: Literal["half", "none"] = "half"
    titles: bool = True
    entailment: Literal["auto", "probability", "binary"] = "auto"
    average: Literal["facts", "answers"] = "facts"
    coverage: Literal["answer", "fact"] = "answer"
    density_over: Literal["all", "cited"] = "all"

    def __post_init__(self) -> None:
        if not 0 < self.likeness <= 1:
            raise UserError(f"likeness is {self.likeness}; allowed: a number above 0, up to 1.")
        if self.own_group and self.facts == "model":
            raise UserError(
                "own_group=true keeps the citation groups of a parser's facts, and a chat model makes the facts: leave "
                "out one of the two."
            )
        if self.marks == "kept" and self.facts == "parser":
            raise UserError(
                "marks=kept is how a chat model sees sentences, and a parser makes the facts: leave it out, or name a "
                "model."
            )
        if self.window < 1:
            raise UserError(f"window is {self.window}; allowed: a whole number from 1.")

    @property
    def signature(self) -> str:
        """Every option with its value but the prompt files, whose wordings are named apart; defaults as well."""
        left = ("decomposition_file", "mapping_file", "styles")
        said = [f"{one.name}={getattr(self, one.name)}" for one in fields(self) if one.name not in left]
        changed = [f"{one.name}={getattr(self.styles, one.name)}" for one in fields(MarkStyles)]
        default = [f"{one.name}={getattr(MarkStyles(), one.name)}" for one in fields(MarkStyles)]
        return ",".join([*said, *(own for own in changed if own not in default)])
