"""AttrScore (Yue et al., 2023) on Flan-T5: attributable, extrapolatory or contradictory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.model_metric import ModelOptions, of_checkpoint, probability
from metaeval.scoring.backends.tokenization import PromptIds
from metaeval.scoring.contract import MetricCard, PairScore, Status, ThreeWay
from metrics_zoo.t5 import T5Metric, ask_prompts

if TYPE_CHECKING:
    from metaeval.scoring.backends.seq2seq import EncodedPrompts

LABELS = ("Attributable", "Extrapolatory", "Contradictory")

# The prompt of the example in the README of OSU-NLP-Group/AttrScore, byte for byte.
_TEMPLATE = (
    "As an Attribution Validator, your task is to verify whether a given reference can support the given claim. A "
    "claim can be either a plain sentence or a question followed by its answer. Specifically, your response should "
    "clearly indicate the relationship: Attributable, Contradictory or Extrapolatory. A contradictory error occurs "
    "when you can infer that the answer contradicts the fact presented in the context, while an extrapolatory error "
    "means that you cannot infer the correctness of the answer based on the information provided in the context. \n\n"
    "Claim: {statement} \n Reference: {source}"
)


class AttrScoreOptions(ModelOptions):
    """Options of AttrScore."""

    max_tokens: Annotated[int, Field(ge=192)] | None = None
    """Most tokens of a prompt; the end of the source is cut beyond them (official: no limit)."""


class AttrScore(T5Metric):
    """AttrScore: P(Attributable) among the three labels that the model was trained to reply.

    The authors generate the reply and keep its label alone. Here each label's log-probability is the sum over its
    pieces and the end token, each after the ones before it (teacher forcing), and the three are normalised to sum to
    1. Greedy decoding gives the label with the largest, except for rare ties between first pieces. The claim is the
    statement; the authors put the question before an answer where there is one. Extrapolatory (the reference neither
    supports nor contradicts) and contradictory map only loosely to partial and no support, which have no labels.
    """

    checkpoint = Checkpoint(
        "osunlp/attrscore-flan-t5-large", "3.1 GB, Apache-2.0", "282eb2ab5d537f5badf5fa33008d96abff34607b"
    )
    Options = AttrScoreOptions
    card = MetricCard(
        name="attrscore",
        title="AttrScore",
        family="entailment by generation",
        summary="P(Attributable) of a Flan-T5 trained to tell attributable, extrapolatory and contradictory claims",
        paper="Yue et al. 2023, Automatic Evaluation of Attribution by Large Language Models (2305.06311)",
        licence="MIT (code), Apache-2.0 (weights)",
        **probability(),
        template=_TEMPLATE,
        parameters="783 M",
        three_way=True,
        **of_checkpoint(checkpoint),
    )

    @cached_property
    def labels(self) -> tuple[list[int], ...]:
        """The token ids of each of `LABELS`, with the end token."""
        return tuple([*self.tokenizer(label)["input_ids"]] for label in LABELS)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a blank statement is EMPTY, an empty source is a reference like any other."""
        return [
            PairScore(exp(ways.entailment) if ways else None, status, prompt.tokens, prompt.cut)
            for prompt, status, ways in self._judge(sources, statements)
        ]

    def entail(self, sources: Sequence[str], statements: Sequence[str]) -> list[ThreeWay | None]:
        """Return log-probabilities of attributable (entailment), extrapolatory (neutral) and contradictory, or None."""
        return [ways for _, _, ways in self._judge(sources, statements)]

    def _judge(
        self, sources: Sequence[str], statements: Sequence[str]
    ) -> list[tuple[PromptIds, Status, ThreeWay | None]]:
        prompts = self.prompts.encode(sources, statements)
        return ask_prompts(prompts, statements, lambda prompt_ids: self.model.ask(prompt_ids, self._ask))

    def _ask(self, batch: EncodedPrompts) -> list[ThreeWay]:
        import torch

        log_likelihoods = []  # of each label: ln P(the prompt's answer is the label), (prompts,) float64
        for label in self.labels:
            logits = batch.after(range(len(batch)), [label[:-1]] * len(batch)).double().log_softmax(-1)
            log_likelihoods.append(torch.stack([logits[:, place, piece] for place, piece in enumerate(label)]).sum(0))
        return [ThreeWay(*row) for row in torch.stack(log_likelihoods, dim=1).log_softmax(1).tolist()]
