"""SummaC (Laban et al., 2022): sentence-pair entailment gathered by maxima (ZS) or by trained bins (Conv)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, ValidationInfo, field_validator

from metaeval.scoring.backends.published import file_is_here
from metaeval.scoring.contract import MetricCard
from metrics_zoo.summac_base import SummaC, SummaCOptions
from metrics_zoo.summac_conv import SHA256, URL, Convolution, check_bins, find_convolution
from metrics_zoo.summac_models import VITC

_CARD: dict[str, Any] = {
    "family": "NLI over sentence pairs",
    "paper": "Laban et al. 2022, SummaC: Re-Visiting NLI-based Models for Inconsistency Detection (2111.09525)",
    "licence": "Apache-2.0 (code; the NLI model states none)",
    "input_limit": 500,
    "truncation": "longest",
    "splitter": "nltk punkt_tab where found, else rules; sentences of <= 10 characters dropped",
    "checkpoint": VITC.hub_id,
    "revision": VITC.revision,
    "dtype": "float32",
    "template": "[CLS] source sentence [SEP] statement sentence [SEP]",
    "parameters": "59 M",
    "modules": ("torch", "transformers", "tokenizers", "safetensors", "sentencepiece"),
    "extra": "models",
}

Values = NDArray[np.float64]
Gather = Literal["max", "mean", "min"]

_GATHER: dict[str, Callable[..., Any]] = {"max": np.max, "mean": np.mean, "min": np.min}


class ZSOptions(SummaCOptions):
    """op1: gathers a statement unit's probabilities over the source; op2: the statement units' scores.

    use_ent, use_con: count entailment, contradiction; without entailment the score is 1 - contradiction.
    """

    op1: Gather = "max"
    op2: Gather = "mean"
    use_ent: bool = True
    use_con: bool = True

    @field_validator("use_con")
    @classmethod
    def _one_of_them(cls, value: bool, info: ValidationInfo) -> bool:
        if not value and not info.data.get("use_ent", True):
            raise ValueError("use_ent and use_con cannot both be off")
        return value


class SummaCZS(SummaC):
    """Mean over statement sentences of (best entailment - worst contradiction), each over the source sentences."""

    Options = ZSOptions
    card = MetricCard(
        name="summac-zs",
        summary="mean over statement sentences of the largest entailment minus the largest contradiction",
        low=-1.0,
        high=1.0,
        neutral=0.0,
        download=VITC.download,
        **_CARD,
    )

    def aggregate(self, values: Values) -> float:
        """Over the source first, then over the statement."""
        options = self.options
        entailment, contradiction = (_GATHER[options.op1](side, axis=0) for side in values[:2])
        if not options.use_ent:
            units = 1.0 - contradiction
        else:
            units = entailment - contradiction if options.use_con else entailment
        return float(_GATHER[options.op2](units))


class ConvOptions(SummaCOptions):
    """nli_labels: which probabilities are counted (e, c, n: entailment, contradiction, neutral).

    bins: percentile, or evenN (even50). agg: gathers the statement units; all hands min, mean and max to the last
    layer. conv_weights: a file of the trained layers; without it the published one (percentile, e) is fetched.
    """

    runtime: ClassVar[frozenset[str]] = SummaCOptions.runtime | {"conv_weights"}

    nli_labels: Literal["e", "c", "n", "ec", "en", "cn", "ecn"] = "e"
    bins: Annotated[str, AfterValidator(check_bins)] = "percentile"
    agg: Literal["mean", "min", "max", "all"] = "mean"
    conv_weights: Path | None = None


class SummaCConv(SummaC):
    """Softmax over two linear layers of how many source sentences fall into each bin of P(entailment).

    The bins are counts, not shares: the score rises with the number of source sentences.
    """

    Options = ConvOptions
    card = MetricCard(
        name="summac-conv",
        summary="trained layers over the histogram of entailment that a statement sentence meets in the source",
        low=0.0,
        high=1.0,
        download=f"{VITC.download}; the trained layers, 2 kB, Apache-2.0",
        **_CARD,
    )

    @cached_property
    def convolution(self) -> Convolution:
        """The trained layers, fetched if need be."""
        options = self.options
        return find_convolution(options.conv_weights, options.bins, options.nli_labels)

    @property
    def lacking_besides(self) -> str:
        """The trained layers."""
        return "" if self.options.conv_weights or file_is_here(URL, SHA256) else "2 kB of trained layers, Apache-2.0"

    @property
    def most_claims(self) -> int:
        """The layers were trained on the first ten statement units."""
        return 10

    def identity(self) -> dict[str, Any]:
        """With the hash of the trained layers' file."""
        return {**super().identity(), "conv_weights": f"sha256:{self.convolution.sha256}"}

    def prepare(self, sources: Any, statements: Any) -> None:
        """Load the layers and the model."""
        _ = self.convolution
        super().prepare(sources, statements)

    def aggregate(self, values: Values) -> float:
        """From counts to a probability."""
        return self.convolution.score(values[:, :, : self.most_claims], self.options.agg)
