"""The plan of a job: its unique pairs in blocks, longest source first. Each block is scored and stored as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

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
        return _digest(self.keys)


@dataclass(frozen=True)
class Plan:
    """A job's unique pairs in blocks of about `block_tokens` tokens. Plans with the same id have the same blocks."""

    blocks: tuple[TextBlock, ...]
    block_tokens: int

    @cached_property
    def id(self) -> str:
        """Return 32 hex digits of a hash over the blocks' ids and the block size."""
        return plan_id(self.block_tokens, [block.id for block in self.blocks])


class PlannedPairs(ABC):
    """A plan with the texts of its pairs, which are in memory or in a file.

    plan: the id of the plan. block_tokens: the size of a block, in tokens. sizes: the number of pairs of each block.
    """

    plan: str
    block_tokens: int
    sizes: Sequence[int]

    @abstractmethod
    def read(self, numbers: Sequence[int]) -> Iterator[tuple[TextBlock, list[TextPair]]]:
        """Yield the blocks with these numbers (ascending), each with its pairs of texts in the order of its keys."""

    @cached_property
    def pairs(self) -> list[TextPair]:
        """Return all pairs in the order of the plan; they stay in memory, also if they were read from a file."""
        return [pair for _, pairs in self.read(range(len(self.sizes))) for pair in pairs]


class PairsInMemory(PlannedPairs):
    """The plan of pairs that are in memory. unique: the pairs by key (`score_store.pair_key`)."""

    def __init__(self, unique: Mapping[bytes, TextPair], block_tokens: int) -> None:
        self.block_tokens = block_tokens
        self.blocks = make_plan(unique, block_tokens)
        self.plan, self.sizes = self.blocks.id, [len(block.keys) for block in self.blocks.blocks]
        self._unique = unique

    def read(self, numbers: Sequence[int]) -> Iterator[tuple[TextBlock, list[TextPair]]]:
        """Yield the blocks with these numbers, each with its pairs of texts in the order of its keys."""
        for number in numbers:
            block = self.blocks.blocks[number]
            yield block, [self._unique[key] for key in block.keys]


def make_plan(unique: Mapping[bytes, TextPair], block_tokens: int) -> Plan:
    """Return a job's pairs (by their keys) in blocks of about `block_tokens`, the longest sources first.

    The plan depends on the job's texts alone, not on their order, nor on what is stored. All pairs of a source are in
    one block, however large. In a block's size a source counts once, a statement once per pair; four characters count
    as a token.
    """
    cut = enumerate(_cut(unique, block_tokens))
    return Plan(tuple(TextBlock(number, tuple(keys)) for number, keys in cut), block_tokens)


def longest_first(text: str) -> tuple[int, bytes]:
    """Return a sort key that puts long texts first, and texts of equal length in an order of their hashes."""
    return -len(text), blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _cut(unique: Mapping[bytes, TextPair], block_tokens: int) -> Iterator[list[bytes]]:
    by_source: dict[str, list[bytes]] = {}
    for key, (source, _) in unique.items():
        by_source.setdefault(source, []).append(key)

    def tokens(source: str) -> int:
        return (len(source) + sum(len(unique[key][1]) for key in by_source[source])) // 4 + 1

    for sources in packed(sorted(by_source, key=longest_first), tokens, block_tokens):
        yield [
            key
            for source in sources
            for key in sorted(by_source[source], key=lambda key: longest_first(unique[key][1]))
        ]


def plan_id(block_tokens: int, blocks: Iterable[str]) -> str:
    """Return a plan's id: 32 hex digits, of a hash over `block_tokens` and the ids of its blocks in order."""
    return _digest([str(block_tokens).encode(), *(block.encode() for block in blocks)])


def _digest(parts: Iterable[bytes]) -> str:
    return blake2b(b"\0".join(parts), digest_size=16).hexdigest()
