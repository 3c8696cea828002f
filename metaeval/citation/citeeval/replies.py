"""One reply of the judge as words about statements, in whichever form was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.editing import Edit
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.structured import Module, read_contexts, read_reviews
from metaeval.citation.citeeval.tagged import read_tagged_contexts, read_tagged_edits, read_tagged_ratings


@dataclass(frozen=True)
class Words:
    """What was said, by the numbers of statements: contexts (1 to 4), edits, stars (1 to 5); and what was wrong."""

    contexts: Mapping[int, int] = field(default_factory=dict)
    edits: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)
    stars: Mapping[int, int] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)


def read_words(
    text: str, module: Module, statements: int, asking: Asking, options: CiteEvalOptions = PAPER
) -> Words | None:
    """The words of a reply on statements 1 to `statements`; None if it is not of the form that was asked for."""
    if asking.output == "tags":
        return _from_tags(text, module, statements, asking, options)
    if module == "attribution":
        contexts = read_contexts(text, statements)
        return None if contexts is None else Words(contexts=contexts.by, problems=contexts.problems)
    reviews = read_reviews(text, statements)
    if reviews is None:
        return None
    return Words(
        edits={number: edits for number, (edits, _) in reviews.by.items()},
        stars={number: stars for number, (_, stars) in reviews.by.items()},
        problems=reviews.problems,
    )


def _from_tags(text: str, module: Module, statements: int, asking: Asking, options: CiteEvalOptions) -> Words | None:
    """A text without any block of the right name is of another form."""
    if module == "attribution":
        contexts = read_tagged_contexts(text, statements, asking.attribution_tag)
        words = Words(contexts=contexts.by, problems=contexts.problems)
    else:
        edits, stars = read_tagged_edits(text, statements, options.stops), read_tagged_ratings(text, statements)
        words = Words(edits=edits.by, stars=stars.by, problems=edits.problems + stars.problems)
    return words if words.contexts or words.edits or words.stars or words.problems else None
