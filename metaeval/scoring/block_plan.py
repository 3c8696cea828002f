"""The plan of a job: its unique pairs in blocks, longest source first. Each block is scored and stored as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain

from metaeval.corpus.sentences import packed
from metaeval.scoring.contract import TextPair


@dataclass(frozen=True)
class TextBlock:
    """A block of pairs that are scored together. number: place in the plan, from 0. keys: of the pairs, in order."""

    number: int
    keys: tuple[bytes, ...]

    @cached_property
    def id(self) -> str:
        """Return 32 hex digits of a hash over the keys in order."""
        return blake2b(b"\0".join(self.keys), digest_size=16).hexdigest()


def make_plan(unique: Mapping[bytes, TextPair], block_tokens: int) -> list[TextBlock]:
    """Return a job's pairs (by their keys) in blocks of about `block_tokens`, the longest sources first.

    The plan depends on the job's texts alone, not on their order, nor on what is stored. All pairs of a source are in
    one block, however large. In a block's size a source counts once, a statement once per pair; four characters count
    as a token.
    """
    by_source: dict[str, list[bytes]] = {}
    for key, (source, _) in unique.items():
        by_source.setdefault(source, []).append(key)

    def tokens(source: str) -> int:
        return (len(source) + sum(len(unique[key][1]) for key in by_source[source])) // 4 + 1

    blocks = []
    for number, sources in enumerate(packed(sorted(by_source, key=longest_first), tokens, block_tokens)):
        ordered = [sorted(by_source[source], key=lambda key: longest_first(unique[key][1])) for source in sources]
        blocks.append(TextBlock(number, tuple(chain.from_iterable(ordered))))
    return blocks


def longest_first(text: str) -> tuple[int, bytes]:
    """Return a sort key that puts long texts first, and texts of equal length in an order of their hashes."""
    return -len(text), blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
