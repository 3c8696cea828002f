"""How SummaC cuts texts into the units that its NLI model compares, and what of them the model never sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Granularity = Literal["sentence", "paragraph", "document", "2sents"]
GRANULARITIES: tuple[str, ...] = get_args(Granularity)

MOST_SOURCE_UNITS = 100
_TOO_SHORT = 10  # a sentence or paragraph of at most so many characters is no unit

Counts = NDArray[np.int64]


class Units(NamedTuple):
    """A text's units in order, and the pieces of it that are in none of them."""

    kept: list[str]
    dropped: list[str]


def cut_units(text: str, granularity: str, split: Callable[[str], list[str]], most: int | None = None) -> Units:
    """Cut a text; `split` gives its sentences, `most` is the number of units after which the rest is dropped.

    sentence: those of more than 10 characters. 2sents: each of those with the one behind it. paragraph: between blank
    lines where there are any, else between line ends, stripped, of more than 10 characters. document: the text.
    """
    if granularity == "document":
        pieces = [text]
    elif granularity == "paragraph":
        pieces = [piece.strip() for piece in text.split("\n\n" if "\n\n" in text else "\n")]
    else:
        pieces = split(text)
    long = [piece for piece in pieces if granularity == "document" or len(piece) > _TOO_SHORT]
    dropped = [piece for piece in pieces if granularity != "document" and len(piece) <= _TOO_SHORT]
    if granularity == "2sents":
        # As in the official code, the last sentence is a window too, alone.
        long = [" ".join(long[number : number + 2]) for number in range(len(long))]
    return Units(long[:most], dropped if most is None else [*dropped, *long[most:]])


def unseen_tokens(sources: Counts, statements: Counts, cut: Counts) -> tuple[Counts, Counts]:
    """Tokens that no pass saw, of each source unit (S,) and each statement unit (T,).

    sources, statements: tokens of the units, (S,) and (T,). cut: tokens that each pass lost, longest side first, the
    statement when both are equally long, (S, T). A unit's end is unseen when every pass with it lost that end.
    """
    first, second = sources[:, None], statements[None, :]
    room = first + second - cut
    half = room // 2 + (first > second) * (room % 2)
    kept = np.minimum(first, np.maximum(room - second, half))
    return sources - kept.max(axis=1), statements - (room - kept).max(axis=0)


def check_granularity(wish: Any) -> Any:
    """Pass on `A` or `A-B` (source and statement) made of known granularities.

    Raises `ValueError` for anything else.
    """
    parts = str(wish).split("-")
    if len(parts) > 2 or not set(parts) <= set(GRANULARITIES):
        raise ValueError(
            f"{wish!r} is none of {', '.join(GRANULARITIES)}, nor two of them as SOURCE-STATEMENT (paragraph-sentence)"
        )
    return wish
