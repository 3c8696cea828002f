"""MiniCheck (Tang et al., 2024) on Flan-T5-large: chunks of the source against the whole statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from metaeval.corpus.sentences import SentenceSplitter
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.model_metric import ModelOptions, of_checkpoint, probability
from metaeval.scoring.backends.sentences import Wish, best_pieces, find_splitter
from metaeval.scoring.backends.tokens import PromptIds
from metaeval.scoring.contract import MetricCard, PairScore, Span, Status
from metrics_zoo.t5 import YesNoMetric

if TYPE_CHECKING:
    from metaeval.scoring.backends.seq2seq import EncodedPrompts


class MiniCheckOptions(ModelOptions):
    """Options of MiniCheck."""

    runtime: ClassVar[frozenset[str]] = ModelOptions.runtime | {"splitter"}

    chunk_words: Annotated[int, Field(ge=1)] = 500
    """Most words of a chunk (one sentence may be longer)."""
    max_tokens: Annotated[int, Field(ge=16)] = 2048
    """Most tokens of a prompt; its end is cut."""
    splitter: Wish = "auto"


class MiniCheck(YesNoMetric):
    """P(1) / (P(0) + P(1)) of the answer's first piece, the largest over the source's chunks.

    A chunk is whole sentences of at most 500 words together, newlines kept; the statement is not split (the authors
    advise single sentences). Beyond 2,048 tokens of chunk and statement the official code lets the tokenizer cut the
    end, which is the statement's: `cut` counts these tokens, and a pair whose whole statement would be cut is TOO_LONG.
    A source without words is EMPTY (the official code stops there).
    """

    checkpoint = Checkpoint("lytang/MiniCheck-Flan-T5-Large", "3.1 GB, MIT", "96eafd01cee2d16cf81aaa2fb226b14f422a37b3")
    cut = "end"
    Options = MiniCheckOptions
    card = MetricCard(
        name="minicheck",
        family="entailment by generation",
        summary="probability that a Flan-T5 trained on claims against documents answers 1, best chunk of the source",
        paper="Tang et al. 2024, MiniCheck: Efficient Fact-Checking of LLMs on Grounding Documents (2404.10774)",
        licence="Apache-2.0 (code), MIT (weights)",
        **probability(half="the official code's label is 1 above one half"),
        input_limit=2048,
        truncation="statement",
        splitter="sentences (NLTK or rules), chunks of 500 words",
        template="predict: {source}</s>{statement}",
        parameters="783 M",
        **of_checkpoint(checkpoint),
    )

    @cached_property
    def splitter(self) -> SentenceSplitter:
        """The sentence splitter."""
        return find_splitter(self.options.splitter)

    def identity(self) -> dict[str, Any]:
        """The metric's identity with the splitter."""
        return {**super().identity(), "splitter": self.splitter.name}

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs."""
        chunks = {source: self.chunks(source) for source in dict.fromkeys(sources)}
        read = [
            (number, chunk, statement)
            for number, (source, statement) in enumerate(zip(sources, statements, strict=True))
            if statement.strip()
            for chunk in chunks[source]
        ]
        prompts: list[list[PromptIds]] = [[] for _ in sources]
        for (number, *_), prompt in zip(read, self.encode([row[1:] for row in read]), strict=True):
            prompts[number].append(prompt)
        supports = iter(self.support([prompt for row in prompts if _is_read(row) for prompt in row]))
        return [_answer(row, [next(supports) for _ in row] if _is_read(row) else []) for row in prompts]

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the statement with the chunk of the source whose probability is the score."""
        chunks = self.chunks(source) if statement.strip() else []
        prompts = self.encode([(chunk, statement) for chunk in chunks])
        if not _is_read(prompts):
            return []
        values = np.array(self.support(prompts)).reshape(-1, 1)
        return best_pieces(source, statement, chunks, [statement], values)

    def chunks(self, source: str) -> list[str]:
        """Cut a source into chunks; a source without words has none."""
        return cut_chunks(source, self.options.chunk_words, self.splitter.split)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[PromptIds]:
        """Encode (chunk, statement) pairs; a prompt has no ids if its whole statement would be cut."""
        prompts = self.prompts.encode([chunk for chunk, _ in pairs], [statement for _, statement in pairs])
        sizes = self.prompts.texts.ids(dict.fromkeys(statement for _, statement in pairs))
        return [
            prompt._replace(ids=[]) if prompt.cut >= max(len(sizes[statement]), 1) else prompt
            for prompt, (_, statement) in zip(prompts, pairs, strict=True)
        ]

    def support(self, prompts: Sequence[PromptIds]) -> list[float]:
        """Return P(1) / (P(0) + P(1)) for each prompt."""
        return self.model.ask([prompt.ids for prompt in prompts], self._ask)

    def _ask(self, batch: EncodedPrompts) -> list[float]:
        chances: list[float] = batch.first().double()[:, [*reversed(self.answers)]].softmax(-1)[:, 1].tolist()
        return chances


def cut_chunks(text: str, words: int, split: Callable[[str], Sequence[str]]) -> list[str]:
    """Cut a text into chunks of whole sentences with at most `words` white-space words, joined by spaces.

    Newlines stay; the second of two is followed by a space, as in the official code.
    """
    units = [unit for line in text.split("\n") for unit in (*split(line), "\n")][:-1]
    chunks: list[list[str]] = [[]]
    counted = 0
    for unit in units:
        size = len(unit.split())
        if counted + size > words:
            chunks.append([])
            counted = 0
        chunks[-1].append(unit)
        counted += size
    joined = [" ".join(chunk).replace(" \n ", "\n").strip() for chunk in chunks]
    return [chunk for chunk in joined if chunk]


def _is_read(prompts: Sequence[PromptIds]) -> bool:
    return bool(prompts) and all(prompt.ids for prompt in prompts)


def _answer(prompts: Sequence[PromptIds], support: Sequence[float]) -> PairScore:
    tokens, cut = sum(prompt.tokens for prompt in prompts), sum(prompt.cut for prompt in prompts)
    if not prompts:
        return PairScore(None, Status.EMPTY)
    return PairScore(max(support), tokens=tokens, cut=cut) if support else PairScore(None, Status.TOO_LONG, tokens, cut)
