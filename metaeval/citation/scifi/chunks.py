"""Cited documents in chunks of whole sentences that overlap, as SCiFi takes them from WiCE's released code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from metaeval.citation.model import Passage
from metaeval.citation.premises import premise
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.sentences import RULES, SentenceSplitter
from metaeval.errors import UserError

Count = Callable[[str], int]
"""The length of a text in the unit of the window."""

_PATIENCE = 5.0
"""Seconds that the hub has to answer."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A premise. passage: the index of the passage that its text is from; None where it is from several."""

    text: str
    passage: int | None


def count_words(text: str) -> int:
    """White-space words."""
    return len(text.split())


@cache
def counter(unit: str) -> Count:
    """How a window is measured: in "words", or in the tokens of the tokenizer of that hub id or folder.

    Raises `UserError` where the tokenizer cannot be loaded.
    """
    if unit == "words":
        return count_words
    try:
        tokenizer = _tokenizer(unit)
    except ModuleNotFoundError as error:
        raise UserError(
            f"window_unit={unit} needs {error.name}: type 'pip install \"metaeval[models]\"', or set window_unit=words."
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"The tokenizer window_unit={unit} cannot be loaded ({type(error).__name__}: {reason}); give a hub id or "
            "the folder of a tokenizer, or set window_unit=words."
        ) from error
    return lambda text: len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _tokenizer(unit: str) -> Any:
    """The tokenizer in a folder, in the hub's cache, or on the hub; whatever is wrong is raised as it comes."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(unit, local_files_only=True)
    except OSError:  # not in a folder, and not in the cache
        if Path(unit).is_dir():
            raise
    from huggingface_hub import model_info

    # Asked once, so that without a network, or with a wrong id, nothing is tried again and again.
    model_info(unit, timeout=_PATIENCE)
    return AutoTokenizer.from_pretrained(unit)


def windows(sizes: Sequence[int], window: int, overlap: bool) -> list[tuple[int, int]]:
    """From the sentences' sizes to the chunks, as (first sentence, first one that is no longer in it).

    A chunk takes sentences up to the window, and at least one, however long. With overlap the next one starts back by
    half of the chunk's sentences (rounded down), or by fewer where the sentence after the chunk would not find room:
    every chunk reads on. The last chunk ends with the last sentence.

    WiCE's released code starts one sentence later, which leaves a sentence out behind a chunk of one or two, and
    closes a chunk that just fits; neither is kept.
    """
    found: list[tuple[int, int]] = []
    start = end = 0
    while end < len(sizes):
        total = sum(sizes[start:end])
        while end < len(sizes) and (end == start or total + sizes[end] <= window):
            total += sizes[end]
            end += 1
        found.append((start, end))
        start = end - (end - start) // 2 if overlap else end
        while end < len(sizes) and start < end and sum(sizes[start : end + 1]) > window:
            start += 1
    return found


def chunks_of(
    passages: Sequence[tuple[int, Passage]],
    options: ScifiOptions | None = None,
    count: Count = count_words,
    splitter: SentenceSplitter = RULES,
) -> list[Chunk]:
    """The passages, (index, passage) each, as one text in chunks; at least one chunk if there is a passage.

    With the option `titles` every chunk opens with the title of its passage, which is not counted; where it holds
    text of several passages, each part does.
    """
    options = options or ScifiOptions()
    sentences = [(place, one) for place, (_, passage) in enumerate(passages) for one in splitter.split(passage.text)]
    if not sentences and passages:
        return [_chunk([(place, "") for place in range(len(passages))], passages, options)]
    sizes = [count(sentence) for _, sentence in sentences]
    cut = windows(sizes, options.window, options.overlap == "half")
    return [_chunk(sentences[start:end], passages, options) for start, end in cut]


def _chunk(
    sentences: Sequence[tuple[int, str]], passages: Sequence[tuple[int, Passage]], options: ScifiOptions
) -> Chunk:
    texts: dict[int, list[str]] = {}
    for place, sentence in sentences:
        texts.setdefault(place, []).append(sentence)
    parts = [
        Passage(" ".join(said), passages[place][1].title if options.titles else "") for place, said in texts.items()
    ]
    from_several = len({passages[place][0] for place in texts}) > 1
    return Chunk(premise(parts), None if from_several else passages[next(iter(texts))][0])
