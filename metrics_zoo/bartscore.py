"""BARTScore (Yuan et al., 2021): how likely a statement is to a summarising BART that reads the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import exp
from typing import Any, Literal, NamedTuple

from metaeval.errors import UserError
from metaeval.reading import read_object
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.likelihood import BartLikelihood
from metaeval.scoring.backends.model_metric import LoadedModelMetric, ModelOptions, of_checkpoint
from metaeval.scoring.backends.models import FETCH_AGAIN, broken_files, load_model, load_tokenizer
from metaeval.scoring.contract import MetricCard, MetricOptions, PairScore, Status, TwoStepMetric

_LIMIT = 1024
_GENERATORS = frozenset({"BartForConditionalGeneration", "BartModel", "bart"})  # named by config.json


class BARTScoreOptions(ModelOptions):
    """Options of BARTScore."""

    direction: Literal["source-to-statement", "statement-to-source", "mean"] = "source-to-statement"
    """Which text BART reads and which it judges; mean (the paper's F) is the mean of both directions."""
    transform: Literal["none", "exp"] = "none"
    """exp turns the mean log-probability into a number in (0, 1]; ranks stay, Pearson's correlation does not."""
    fallback: bool = False
    """Give a judged text without words the official number, which is that of its <s> and </s>."""


class Likely(NamedTuple):
    """BART's output for a pair: mean log-probability in the chosen direction; tokens of both texts; tokens cut.

    wordless: a text that had to be judged holds no word.
    """

    value: float
    tokens: int
    cut: int
    wordless: bool


class BARTScore(TwoStepMetric, LoadedModelMetric):
    """Mean log-probability of the statement's tokens, <s> and </s> included, given the source; higher is more support.

    These two nearly certain tokens pull short statements towards 0, as in the official code. Statements need no
    generation and no prompt: their own tokens are fed to the decoder.
    """

    checkpoint = Checkpoint("facebook/bart-large-cnn", "1.6 GB, MIT", "37f520fa929c961707657b28798b30c003dd100b")
    Options = BARTScoreOptions
    card = MetricCard(
        name="bartscore",
        family="likelihood",
        summary="mean log-probability of the statement given the source (transform=exp: in (0, 1]), BART-large-CNN",
        paper="Yuan et al. 2021, BARTScore: Evaluating Generated Text as Text Generation (2106.11520)",
        licence="Apache-2.0",
        high=0.0,
        input_limit=_LIMIT,
        truncation="both",
        template="encoder: <s> source </s>; decoder: </s> <s> statement",
        parameters="406 M",
        **of_checkpoint(checkpoint),
    )

    def __init__(self, options: MetricOptions | None = None) -> None:
        super().__init__(options)
        if self.options.transform == "exp":
            vars(self)["card"] = replace(self.card, low=0.0, high=1.0)  # this metric's; the class keeps its own

    @cached_property
    def model(self) -> BartLikelihood:
        """The BART, loaded when first asked for; `UserError` when the checkpoint is of another architecture."""
        from transformers import BartForConditionalGeneration

        found, options = self.model_folder, self.options
        with broken_files(found):
            config = read_object(found.folder / "config.json", FETCH_AGAIN)
            kinds = config.get("architectures") or [config.get("model_type")]
        # A classifier on BART would load without complaint, and its tied head would speak nonsense.
        if config.get("model_type") != "bart" or not _GENERATORS.intersection(kinds):
            raise UserError(
                f"The model in {found.folder} is a {kinds[0]}; bartscore needs a BART that generates, such as "
                "model=facebook/bart-large-cnn (the default) or model=facebook/bart-base."
            )
        model = load_model(BartForConditionalGeneration, found, options.dtype, self.device)
        return BartLikelihood(model, load_tokenizer(found), _LIMIT, self.batch_tokens, self.device)

    def observed(self) -> Mapping[str, Any]:
        """The identity without the options that only transform the number."""
        identity = self.identity()
        for name in ("transform", "fallback"):
            identity["options"].pop(name)
        return identity

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[Likely]:
        """Ask BART about each pair. An empty text can be read, and judged by its <s> and </s>."""
        direction = self.options.direction
        values = []
        if direction != "statement-to-source":
            values.append(self.model.mean_log_likelihoods(sources, statements))
        if direction != "source-to-statement":
            values.append(self.model.mean_log_likelihoods(statements, sources))
        texts = self.model.read([*sources, *statements])
        seen = []
        for source, statement, *both in zip(sources, statements, *values, strict=True):
            read, judged = texts[source], texts[statement]
            # A statement without words says nothing to support, whichever way it is read.
            wordless = not statement.strip() or (direction != "source-to-statement" and not source.strip())
            mean = sum(both) / len(both)
            seen.append(Likely(mean, read.tokens + judged.tokens, read.cut + judged.cut, wordless))
        return seen

    def judge(self, observations: Sequence[Likely]) -> list[PairScore]:
        """The transformed number; EMPTY for a judged text without words, unless `fallback` is on."""
        return [self._answer(seen) for seen in observations]

    def _answer(self, seen: Likely) -> PairScore:
        if seen.wordless and not self.options.fallback:
            return PairScore(None, Status.EMPTY, seen.tokens, seen.cut)
        value = exp(seen.value) if self.options.transform == "exp" else seen.value
        return PairScore(value, tokens=seen.tokens, cut=seen.cut)
