"""AttrScore (Yue et al. 2023, arXiv 2305.06311) of statements: a label for each citation, and what labels are worth.

The labels come from a chat model, asked without examples in this project's own words, or from a metric that gives
probabilities of three classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from metaeval.citation.citeeval.baselines import Open, between, known, mean
from metaeval.citation.citeeval.inquiry import (
    Inquiry,
    Kind,
    Make,
    State,
    citable,
    read_choices,
    shown,
    shown_passages,
)
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Pair
from metaeval.citation.premises import premise
from metaeval.llm.exchange import Answer

Mode = Literal["strict", "relaxed"]
MODES: tuple[Mode, ...] = ("strict", "relaxed")

Otherwise = Literal["missing", "attributable"]
"""A label that is none of the three: missing, or taken for Attributable, as the released code does."""

LABEL = Kind("attrscore", "label", ("Attributable", "Contradictory", "Extrapolatory"))

NO_PASSAGE = "No passage"
"""In place of a label: the citation gives nothing to read, and is worth 0."""

UNREAD = "?"
"""In place of a label: the judge replied, but with none of the three."""

_WORTH: Mapping[str, float] = {"Attributable": 1.0, "Contradictory": 0.0, NO_PASSAGE: 0.0}

Ways = Callable[[Sequence[Pair]], Sequence[str | None]]
"""(reference, claim) pairs to labels, None where there is none."""


@dataclass(frozen=True)
class AttrStatement:
    """The labels of a statement's citations, in order; None: missing. states: what became of the questions asked."""

    labels: tuple[str | None, ...]
    states: Counter[State] = field(default_factory=Counter)

    def value(self, mode: Mode = "strict", otherwise: Otherwise = "missing") -> Open:
        """Its AttrScore."""
        return attrscore(self.labels, mode, otherwise)


def attrscore(labels: Sequence[str | None], mode: Mode = "strict", otherwise: Otherwise = "missing") -> Open:
    """AttrScore of a statement from the labels of its citations: their mean worth, and 0 without a citation.

    Attributable is worth 1, Contradictory 0, Extrapolatory 0 (strict) or 0.5 (relaxed). None, a label that never came,
    leaves the value missing whatever `otherwise` says.
    """
    return mean([_worth(label, mode, otherwise) for label in labels]) if labels else known(0.0)


def attrscore_inquiries(responses: Sequence[Response], splits: Sequence[Split], make: Make) -> list[Inquiry]:
    """What is asked, one question for each citation of a passage that holds text.

    Raises ValueError if the lengths differ.
    """
    prompt = LABEL.prompt()
    return [
        Inquiry(
            LABEL,
            number,
            place,
            citation,
            make(
                prompt.fill(
                    query=shown(response.question), statement=shown(one.text), passages=shown_passages([passage])
                ),
                LABEL.form,
            ),
        )
        for number, (response, split) in enumerate(zip(responses, splits, strict=True))
        for place, one in enumerate(split.statements)
        for citation, passage in citable(one, response)
    ]


def attrscore_by_model(
    responses: Sequence[Response], splits: Sequence[Split], inquiries: Sequence[Inquiry], answers: Sequence[Answer]
) -> list[list[AttrStatement]]:
    """The labels that a chat model gives; inquiries, answers: of `attrscore_inquiries`, and what came of them."""
    choices = read_choices(inquiries, answers)

    def of(number: int, place: int, one: Statement) -> AttrStatement:
        heard = [choices.get((LABEL.name, number, place, own)) for own in range(len(one.citations))]
        labels = [NO_PASSAGE if said is None else UNREAD if said[1] == "unparsed" else said[0] for said in heard]
        return AttrStatement(tuple(labels), Counter(said[1] for said in heard if said is not None))

    return [
        [of(number, place, one) for place, one in enumerate(split.statements)]
        for number, (_, split) in enumerate(zip(responses, splits, strict=True))
    ]


def attrscore_by_metric(
    responses: Sequence[Response], splits: Sequence[Split], label: Ways
) -> list[list[AttrStatement]]:
    """The labels that a metric gives, all asked for in one batch; a passage is read with its title above it.

    Raises ValueError if the lengths differ.
    """
    pairs: dict[tuple[int, int, int], Pair] = {
        (number, place, citation): (premise([passage]), one.text)
        for number, (response, split) in enumerate(zip(responses, splits, strict=True))
        for place, one in enumerate(split.statements)
        for citation, passage in citable(one, response)
    }
    unique = list(dict.fromkeys(pairs.values()))
    found = dict(zip(unique, label(unique), strict=True)) if unique else {}

    def of(number: int, place: int, one: Statement) -> AttrStatement:
        asked = [pairs.get((number, place, own)) for own in range(len(one.citations))]
        return AttrStatement(tuple(NO_PASSAGE if pair is None else found[pair] for pair in asked))

    return [
        [of(number, place, one) for place, one in enumerate(split.statements)] for number, split in enumerate(splits)
    ]


def _worth(label: str | None, mode: Mode, otherwise: Otherwise) -> Open:
    if label == "Extrapolatory":
        return known(0.5 if mode == "relaxed" else 0.0)
    if label is None:  # it never came: not even the released code makes a number of that
        return between(0.0, 1.0)
    worth = _WORTH.get(label, 1.0 if otherwise == "attributable" else None)
    return between(0.0, 1.0) if worth is None else known(worth)
