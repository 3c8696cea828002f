"""Sentence splitting as in the official metrics: NLTK's punkt_tab where its data are installed, else rules."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.core.errors import UserError
from metaeval.core.files import cache_folder
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.scoring.contract import Side, Span

Grid = NDArray[np.float64]

Wish = Literal["auto", "nltk", "rules"]
_DATA = "tokenizers/punkt_tab/english/"


def find_splitter(wish: Wish = "auto") -> SentenceSplitter:
    """Return NLTK's English punkt_tab or the splitter by rules; "auto" is NLTK if its package and data are installed.

    With "nltk" missing data are downloaded; raises `UserError` where that fails or the package is missing.
    """
    folder = None if wish == "rules" else _punkt_folder()
    if folder is None and wish != "nltk":
        return RULES
    return _punkt(folder or _download())


@cache
def _punkt(folder: Path) -> SentenceSplitter:
    import nltk
    from nltk.tokenize.punkt import PunktTokenizer

    tokenizer = PunktTokenizer("english")
    digest = sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()[:8]
    return SentenceSplitter(f"nltk-{nltk.__version__}/punkt_tab-english@{digest}", tokenizer.tokenize)


def _punkt_folder() -> Path | None:
    cached = str(_own_folder())
    # nltk takes more than a second to import: without data it is not imported.
    if find_spec("nltk") is None or not any(Path(place, _DATA).is_dir() for place in [*nltk_places(), cached]):
        return None
    import nltk

    try:
        folder = Path(str(nltk.data.find(_DATA, [*nltk.data.path, cached])))
    except LookupError:
        return None
    if folder.is_relative_to(cached) and cached not in nltk.data.path:
        nltk.data.path.append(cached)  # where the tokenizer looks
    return folder


def nltk_places() -> list[str]:
    """Return the folders in which nltk looks for data, without importing nltk where the system is POSIX."""
    if "nltk" in sys.modules or os.name != "posix":
        import nltk

        return list(nltk.data.path)
    named = [name for name in os.environ.get("NLTK_DATA", "").split(os.pathsep) if name]
    roots = ["~", sys.prefix, f"{sys.prefix}/share", f"{sys.prefix}/lib"]
    roots += ["/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"]
    return [os.path.expanduser(place) for place in [*named, *(f"{root}/nltk_data" for root in roots)]]


def _own_folder() -> Path:
    return cache_folder() / "nltk_data"


def _download() -> Path:
    if find_spec("nltk") is None:
        raise UserError("The splitter 'nltk' needs the package nltk: type 'pip install nltk', or set splitter=rules.")
    import nltk

    nltk.download("punkt_tab", download_dir=str(_own_folder()), quiet=True)
    folder = _punkt_folder()
    if folder is None:
        raise UserError("No punkt_tab is here: type 'python -m nltk.downloader punkt_tab', or set splitter=rules.")
    return folder


def places(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return start and end of each piece in a text, in characters; white space between words may differ.

    Each piece is searched from behind the start of the one before; (0, 0) for a piece that is blank or not found.
    """
    spans = []
    start = 0
    for piece in pieces:
        words = r"\s+".join(map(re.escape, piece.split()))
        match = re.compile(words).search(text, start) if words else None
        spans.append(match.span() if match else (0, 0))
        start = match.start() + 1 if match else start
    return spans


def best_pieces(source: str, statement: str, units: Sequence[str], claims: Sequence[str], values: Grid) -> list[Span]:
    """Return for each claim its span in the statement, then that of the unit of the source that supports it most.

    units, claims: pieces of source and statement. values: support, (n_units, n_claims); of ties the first unit is used.
    Both spans have the value, clipped to [-1, 1], as weight. Pieces that their text does not hold have no span.
    """
    spans = []
    read, judged = places(source, units), places(statement, claims)
    for claim, best in enumerate(values.argmax(axis=0).tolist() if len(units) else ()):
        weight = max(-1.0, min(float(values[best, claim]), 1.0))
        places_by_side: list[tuple[Side, tuple[int, int]]] = [("statement", judged[claim]), ("source", read[best])]
        spans += [Span(side, start, end, weight, claim) for side, (start, end) in places_by_side if start < end]
    return spans
