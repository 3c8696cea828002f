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
    """How answers become facts, facts get citations, and citations get values."""

    facts: Literal["parser", "model"] = "parser"
    """Who makes facts of sentences: the parser (ALiiCE's claims) or a chat model."""
    styles: MarkStyles = field(default_factory=MarkStyles)
    """Citation marks that are read, as NAME: VALUE of the marks' own options."""
    leading: Leading = "move all"
    """What becomes of marks that open a sentence, as they do after a full stop: they stay, or the first or all of
    them move to the sentence before."""
    decomposition_file: Path | None = None
    """A prompt of your own that asks for the facts, with {sentence}."""
    mapping_file: Path | None = None
    """A prompt of your own that asks for a fact's segment, with {sentence} and {fact}."""
    marks: Literal["removed", "kept"] = "removed"
    """Whether a chat model sees sentences with their citation marks; kept marks are cut out of the facts and
    segments."""
    map_all: bool = False
    """Ask for the segments of all facts, even in sentences whose citations leave no choice."""
    likeness: float = 0.8
    """Lowest similarity, from 0 to 1, at which a segment that is not in its sentence is found by likeness (1: it is
    not looked for)."""
    twice: Literal["first", "last"] = "first"
    """Which occurrence of a segment counts that stands several times in its sentence."""
    unmapped: Literal["sentence", "left out"] = "sentence"
    """What becomes of a fact whose segment is not found: the whole sentence is its segment, or it is left out."""
    own_group: bool = False
    """Let a parser's fact keep the citation group that it was cut out for, whatever is nearest."""
    distance: Literal["characters", "words"] = "characters"
    """Unit of the distance between a citation and the end of a fact's segment."""
    tie: Literal["after", "before"] = "after"
    """Which of two citations at the same distance is taken: the one after or before the segment's end."""
    group: Literal["max", "joint", "first"] = "max"
    """How marks that stand together are read: each passage by itself (max), all as one premise (joint), or the
    first alone."""
    out_of_range: Literal["fails", "left out"] = "fails"
    """Value of a fact whose citations are no passages: 0 (fails), or it is left out."""
    window: int = 256
    """Most words (or tokens) in a chunk of a passage; the best chunk decides."""
    window_unit: str = "words"
    """Unit of the window: words, or the tokens of a tokenizer (its hub id or folder)."""
    overlap: Literal["half", "none"] = "half"
    """Overlap of neighbouring chunks: half of a chunk's sentences, or none."""
    titles: bool = True
    """Begin every chunk with its passage's title."""
    entailment: Literal["auto", "probability", "binary"] = "auto"
    """Value of a fact: the backend's probability, its binary decision at the threshold, or auto (the probability
    where the backend's scores run from 0 to 1)."""
    average: Literal["facts", "answers"] = "facts"
    """What the headline is a mean over."""
    coverage: Literal["answer", "fact"] = "answer"
    """Which side is the premise of coverage: the answer, or the reference's fact."""
    density_over: Literal["all", "cited"] = "all"
    """Sentences over which citation density is computed: all, or cited ones."""

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
