"""AutoAIS (Honovich et al., 2022; Bohnet et al., 2022): a T5 asked whether the source entails the statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log1p
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.model_metric import ModelOptions, of_checkpoint, probability
from metaeval.scoring.contract import MetricCard, PairScore, Status, TwoStepMetric
from metrics_zoo.t5 import YesNoMetric, ask_prompts

if TYPE_CHECKING:
    from metaeval.scoring.backends.seq2seq import EncodedPrompts

_MOST_PIECES = 10  # ALCE generates no more


class AutoAISOptions(ModelOptions):
    """Options of AutoAIS."""

    score: Literal["full", "two_way", "binary"] = "full"
    """Probability of "1" in the whole vocabulary (full), against "0" alone (two_way), or the greedy answer (binary)."""
    max_tokens: Annotated[int, Field(ge=16)] | None = None
    """Most tokens of a prompt; the end of the source is cut beyond them (official: no limit)."""


class EntailmentOutput(NamedTuple):
    """The model's output for a pair.

    log_full: log-probability that the first token is "1"; log_two_way: the same against the first token of "0" alone;
    spelled: whether the decoded greedy reply is exactly "1" (always False but for score=binary). 0, 0 and False for
    EMPTY and TOO_LONG.
    """

    log_full: float
    log_two_way: float
    spelled: bool
    tokens: int
    cut: int
    status: Status = Status.OK


class AutoAIS(TwoStepMetric, YesNoMetric):
    """AutoAIS: the TRUE mixture T5-XXL on `premise: {source} hypothesis: {statement}`.

    In T5's vocabulary "1" is the piece ▁1 (209) and "0" the pieces ▁ and 0 (3, 632). `full` is the score of ALCE's
    re-ranker, and the paper's "generated token probability of 1"; `two_way` is the softmax over 209 and 3 of later
    work. Both come from one observation (model output), of one decoder step. `binary` is the official 0 or 1: whether
    greedy decoding gives exactly the string "1". After ▁1 the end must follow, and after ▁ the piece 1 still can, so
    pairs that the first piece does not decide are decoded further, at most for ten pieces; this is a separate
    observation.
    """

    checkpoint = Checkpoint(
        "google/t5_xxl_true_nli_mixture", "45.5 GB, Apache-2.0", "aa6cfe1dd4257853bfdd772992045f41bfc14988"
    )
    Options = AutoAISOptions
    card = MetricCard(
        name="autoais",
        title="AutoAIS",
        family="entailment by generation",
        summary="probability that a T5 trained on NLI answers 1 (entailed)",
        paper="Honovich et al. 2022, TRUE (2204.04991); Bohnet et al. 2022, Attributed Question Answering (2212.08037)",
        licence="Apache-2.0",
        **probability(half="the official answer 1 is, but for rare ties, a probability above one half"),
        template="premise: {source} hypothesis: {statement}",
        parameters="11.3 B",
        **of_checkpoint(checkpoint),
    )

    def observed(self) -> Mapping[str, Any]:
        """Return the identity with `score` only as binary or not: full and two_way share one run of the model."""
        identity = self.identity()
        return {**identity, "options": {**identity["options"], "score": self.options.score == "binary"}}

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[EntailmentOutput]:
        """Return the model's output for each pair; a blank statement is EMPTY, an empty source is a premise too."""
        prompts = self.prompts.encode(sources, statements)
        answers = ask_prompts(prompts, statements, lambda prompt_ids: self.model.ask(prompt_ids, self._ask))
        return [
            EntailmentOutput(*(answer or (0.0, 0.0, False)), prompt.tokens, prompt.cut, status)
            for prompt, status, answer in answers
        ]

    def judge(self, observations: Sequence[EntailmentOutput]) -> list[PairScore]:
        """Return each pair's score as the option `score` names it; None unless the status is OK."""
        answers = []
        for seen in observations:
            scores = {"full": exp(seen.log_full), "two_way": exp(seen.log_two_way), "binary": float(seen.spelled)}
            value = scores[self.options.score] if seen.status is Status.OK else None
            answers.append(PairScore(value, seen.status, seen.tokens, seen.cut))
        return answers

    def _ask(self, batch: EncodedPrompts) -> list[tuple[float, float, bool]]:
        logits = batch.first().double()
        yes, no = self.answers
        full = logits.log_softmax(-1)[:, yes].tolist()
        apart = (logits[:, no] - logits[:, yes]).tolist()
        spelled = self._spelled(batch, logits.argmax(-1).tolist()) if self.options.score == "binary" else set()
        # Of the softmax over the two: -log(1 + e^gap), without overflow.
        two_way = [-(max(gap, 0.0) + log1p(exp(-abs(gap)))) for gap in apart]
        return [
            (log_full, log_two_way, row in spelled)
            for row, (log_full, log_two_way) in enumerate(zip(full, two_way, strict=True))
        ]

    def _spelled(self, batch: EncodedPrompts, firsts: Sequence[int]) -> set[int]:
        """Return the rows whose greedy reply is "1"; a row is decoded as long as its reply may become "1"."""
        spelled: set[int] = set()
        prefix_by_row = {row: [first] for row, first in enumerate(firsts)}
        for length in range(1, _MOST_PIECES + 1):
            texts = {row: self.tokenizer.decode(ids, skip_special_tokens=True) for row, ids in prefix_by_row.items()}
            eos = self.tokenizer.eos_token_id
            ended = {row for row, ids in prefix_by_row.items() if ids[-1] == eos or length == _MOST_PIECES}
            spelled |= {row for row in ended if texts[row] == "1"}
            prefix_by_row = {
                row: ids for row, ids in prefix_by_row.items() if row not in ended and texts[row] in ("", "1")
            }
            if not prefix_by_row:
                break
            following = batch.after(list(prefix_by_row), list(prefix_by_row.values()))[:, -1].argmax(-1).tolist()
            prefix_by_row = {
                row: [*ids, piece] for (row, ids), piece in zip(prefix_by_row.items(), following, strict=True)
            }
        return spelled
