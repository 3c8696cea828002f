"""MiniCheck (Tang et al., 2024) on Flan-T5-large: chunks of the source against the whole statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, islice
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.corpus.sentences import packed
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.model_metric import of_checkpoint, probability
from metaeval.scoring.backends.tokenization import PromptIds
from metaeval.scoring.contract import MetricCard, PairScore, Status, TextPair
from metrics_zoo.splitting import BestChunkMetric, SplitterOptions
from metrics_zoo.t5 import YesNoMetric

if TYPE_CHECKING:
    from metaeval.scoring.backends.seq2seq import EncodedPrompts


class MiniCheckOptions(SplitterOptions):
    """Options of MiniCheck."""

    chunk_words: Annotated[int, Field(ge=1)] = 500
    """Most words of a chunk (one sentence may be longer)."""
    max_tokens: Annotated[int, Field(ge=16)] = 2048
    """Most tokens of a prompt; its end is cut."""


class MiniCheck(BestChunkMetric, YesNoMetric):
    """MiniCheck: largest P(1) / (P(0) + P(1)) of the reply's first token over the source's chunks.

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
        title="MiniCheck",
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

    def judge_chunks(self, rows: Sequence[Sequence[TextPair]]) -> list[list[PairScore]]:
        """Return each pair's P(1) / (P(0) + P(1)); a row is TOO_LONG if a whole statement in it would be cut."""
        encoded = iter(self.encode([pair for row in rows for pair in row]))
        prompts = [list(islice(encoded, len(row))) for row in rows]
        is_read = [all(prompt.ids for prompt in row) for row in prompts]
        supports = iter(self.support([prompt for row in compress(prompts, is_read) for prompt in row]))
        return [
            [
                PairScore(next(supports), Status.OK, prompt.tokens, prompt.cut)
                if row_is_read
                else PairScore(None, Status.TOO_LONG, prompt.tokens, prompt.cut)
                for prompt in row
            ]
            for row, row_is_read in zip(prompts, is_read, strict=True)
        ]

    def chunks(self, source: str) -> list[str]:
        """Return the chunks of a source; one without words has none."""
        return cut_chunks(source, self.options.chunk_words, self.splitter.split)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[PromptIds]:
        """Return the ids of (chunk, statement) pairs; a prompt has no ids if its whole statement would be cut."""
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
    """Return a text's chunks: whole sentences with at most `words` white-space words, joined by spaces.

    Newlines stay; the second of two is followed by a space, as in the official code.
    """
    units = [unit for line in text.split("\n") for unit in (*split(line), "\n")][:-1]
    chunks = packed(units, lambda unit: len(unit.split()), words)
    joined = [" ".join(chunk).replace(" \n ", "\n").strip() for chunk in chunks]
    return [chunk for chunk in joined if chunk]
