"""SummaC (Laban et al., 2022): NLI of sentence pairs, aggregated by maxima (ZS) or by layers over histograms (Conv)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, ValidationInfo, field_validator

from metaeval.core.errors import UserError
from metaeval.core.parsing import read_object
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.scoring.backends.checkpoint import Checkpoint, file_is_here
from metaeval.scoring.backends.classifier import PairClassifier
from metaeval.scoring.backends.model_loading import FETCH_AGAIN, broken_files, load_tokenizer
from metaeval.scoring.backends.model_metric import MODULES, ModelPlace, of_checkpoint
from metaeval.scoring.backends.sentence_splitting import best_pieces
from metaeval.scoring.backends.tokenization import PairTokens
from metaeval.scoring.contract import MetricCard, PairScore, Span, Status, TwoStepMetric
from metrics_zoo import summac_image as images
from metrics_zoo.splitting import SplitterOptions, SplittingMetric

_MAX_TOKENS = 500


class SummaCOptions(SplitterOptions):
    """Options of both forms of SummaC."""

    model: Annotated[ModelPlace, AfterValidator(images.check_model)] = None
    """vitc, vitc-base, vitc-only, mnli, mnli-base, anli, or a three-way NLI model, as a folder or a hub name (default:
    vitc)."""
    granularity: Annotated[str, BeforeValidator(images.check_granularity)] = "sentence"
    """Units: sentence, paragraph, document or 2sents, or two of them as SOURCE-STATEMENT."""
    fallback: bool = False
    """Give pairs that hold nothing to score the number that the official code gives them."""


class SummaC(TwoStepMetric, SplittingMetric):
    """SummaC: an NLI model scores each source unit (such as a sentence) against each statement unit.

    There are no three-way probabilities of a pair: the best entailment and the best contradiction of a statement
    sentence can come from different source sentences, and have no neutral class.
    """

    checkpoint = images.VITC
    Options = SummaCOptions
    most_claims: ClassVar[int | None] = None  # how many statement units count, from the first; None: all

    @cached_property
    def wanted(self) -> Checkpoint:
        """The checkpoint that the options ask for, by SummaC's name or hub id."""
        return self.checkpoint.at(images.hub_id(self.options.model), self.options.revision)

    @property
    def block_tokens(self) -> int:
        """Return a quarter of other metrics' tokens, since a source is read once per sentence of each statement."""
        return super().block_tokens // 4

    @cached_property
    def splitter(self) -> SentenceSplitter:
        """Return the sentence splitter; one named "none", which does not split, if no granularity splits sentences."""
        if set(self._granularities) & {"sentence", "2sents"}:
            return super().splitter
        return SentenceSplitter("none", lambda text: [text])

    @cached_property
    def labels(self) -> images.LabelOrder:
        """Return the numbers of entailment, contradiction and neutral among the model's labels, in this order."""
        with broken_files(self.model_folder):
            config = read_object(self.model_folder.folder / "config.json", FETCH_AGAIN)
        return images.label_order(config, self.wanted.hub_id)

    @property
    def official_name(self) -> str:
        """The name in SummaC's own table of the model, or of one with its order of labels; `UserError` without one."""
        wish = self.options.model
        named = (name for name, model in images.MODELS.items() if model.order == self.labels)
        if name := wish if wish in images.MODELS else next(named, None):
            return str(name)
        raise UserError(f"The official package summac knows no model whose labels have the order of {wish}: take vitc.")

    @cached_property
    def tokens(self) -> PairTokens:
        """Return the encoder of pairs of units."""
        # The official code asks the tokenizer to cut the source alone, but its truncation=True cuts the longest side.
        return PairTokens(images.as_published(load_tokenizer(self.model_folder)), _MAX_TOKENS, "longest")

    @cached_property
    def model(self) -> PairClassifier:
        """The NLI model, loaded when first used."""
        from transformers import AutoModelForSequenceClassification

        _ = self.labels  # wrong labels are an error before a model is loaded
        model = self.load(AutoModelForSequenceClassification)
        return PairClassifier(model, self.tokens, self.batch_tokens, self.device)

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the splitter and the order of the labels."""
        return {**super().identity(), "labels": list(self.labels)}

    def observed(self) -> Mapping[str, Any]:
        """Return everything that an NLI image (the matrix of the units' probabilities) depends on."""
        return {
            "of": "summac image 1",
            "weights": self.model_folder.fingerprint,
            "dtype": self.options.dtype,
            "labels": list(self.labels),
            "granularity": list(self._granularities),
            "splitter": self.splitter.name,
        }

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[images.NLIImage]:
        """Return the NLI image of each pair: the probabilities of each source unit with each statement unit."""
        read = {text: self._units(0, text) for text in dict.fromkeys(sources)}
        claimed = {text: self._units(1, text) for text in dict.fromkeys(statements)}
        pairs = list(zip(sources, statements, strict=True))
        compared = dict.fromkeys(
            (unit, claim)
            for source, statement in pairs
            for unit in read[source].kept
            for claim in claimed[statement].kept
        )
        table = self.model.table([unit for unit, _ in compared], [claim for _, claim in compared])
        pieces = {piece for units in (*read.values(), *claimed.values()) for side in units for piece in side}
        sizes = {piece: len(ids) for piece, ids in self.tokens.texts.ids(sorted(pieces)).items()}
        passes = images.Passes(compared, table, self.labels, sizes)
        return [passes.image(pair, read[pair[0]], claimed[pair[1]]) for pair in pairs]

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return each counted unit of the statement with its best source unit, by entailment minus contradiction."""
        (image,) = self.observe([source], [statement])
        if image.status is not Status.OK:
            return []
        units, claims = self._units(0, source).kept, self._units(1, statement).kept[: self.most_claims]
        values = image.values.astype(np.float64)
        return best_pieces(source, statement, units, claims, values[0] - values[1])

    def judge(self, observations: Sequence[images.NLIImage]) -> list[PairScore]:
        """Return each image's score; without a unit on both sides the image's status, unless `fallback` is on."""
        answers = []
        for image in observations:
            if image.status is not Status.OK and not self.options.fallback:
                answers.append(PairScore(None, image.status, image.tokens, image.tokens))
                continue
            most = self.most_claims
            late = 0 if most is None else int(image.statement_tokens[most:].sum())
            cut = image.unseen + int(image.statement_unseen[:most].sum()) + late
            answers.append(PairScore(self.aggregate(image.values.astype(np.float64)), tokens=image.tokens, cut=cut))
        return answers

    @abstractmethod
    def aggregate(self, values: NDArray[np.float64]) -> float:
        """Return the score of an NLI image, whose values are (3, source units, statement units)."""

    @property
    def _granularities(self) -> tuple[str, str]:
        source_unit, _, statement_unit = self.options.granularity.partition("-")
        return source_unit, statement_unit or source_unit

    def _units(self, side: int, text: str) -> images.CutText:
        """Return the units of a source (side 0), the first ones, or of a statement (1)."""
        most = None if side else images.MOST_SOURCE_UNITS
        return images.cut_units(text, self._granularities[side], self.splitter.split, most)


_CARD: dict[str, Any] = {
    "family": "NLI over sentence pairs",
    "paper": "Laban et al. 2022, SummaC: Re-Visiting NLI-based Models for Inconsistency Detection (2111.09525)",
    "licence": "Apache-2.0 (code; the NLI model states none)",
    "input_limit": 500,
    "truncation": "longest",
    "splitter": "nltk punkt_tab where found, else rules; sentences of <= 10 characters dropped",
    "template": "[CLS] source sentence [SEP] statement sentence [SEP]",
    "parameters": "59 M",
    **of_checkpoint(images.VITC, modules=(*MODULES, "sentencepiece")),
}

Gather = Literal["max", "mean", "min"]

_GATHER: dict[str, Callable[..., Any]] = {"max": np.max, "mean": np.mean, "min": np.min}


class ZSOptions(SummaCOptions):
    """Options of SummaC-ZS."""

    op1: Gather = "max"
    """Aggregates a statement unit's probabilities over the source."""
    op2: Gather = "mean"
    """Aggregates the statement units' scores."""
    use_ent: bool = True
    """Count entailment; without it the score is 1 - contradiction."""
    use_con: bool = True
    """Count contradiction."""

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
        title="SummaC-ZS",
        summary="mean over statement sentences of the largest entailment minus the largest contradiction",
        low=-1.0,
        high=1.0,
        neutral=0.0,
        threshold=0.0,
        threshold_from="entailment and contradiction weigh the same; the authors choose one for each data set",
        **_CARD,
    )

    def range_by_options(self) -> Mapping[str, Any]:
        """Return that 0 decides nothing where only entailment, or only contradiction, counts."""
        return {} if self.options.use_ent and self.options.use_con else {"threshold": None}

    def aggregate(self, values: images.ImageValues) -> float:
        """Return the score: `op1` over the source, entailment minus contradiction, `op2` over the statement."""
        options = self.options
        entailment, contradiction = (_GATHER[options.op1](side, axis=0) for side in values[:2])
        if not options.use_ent:
            units = 1.0 - contradiction
        else:
            units = entailment - contradiction if options.use_con else entailment
        return float(_GATHER[options.op2](units))


class ConvOptions(SummaCOptions):
    """Options of SummaC-Conv."""

    runtime: ClassVar[frozenset[str]] = SummaCOptions.runtime | {"conv_weights"}

    nli_labels: Literal["e", "c", "n", "ec", "en", "cn", "ecn"] = "e"
    """Probabilities that are counted (e, c, n: entailment, contradiction, neutral)."""
    bins: Annotated[str, AfterValidator(images.check_bins)] = "percentile"
    """Bins of the histograms: percentile, or evenN (even50)."""
    agg: Literal["mean", "min", "max", "all"] = "mean"
    """Aggregates the statement units; all passes min, mean and max to the last layer."""
    conv_weights: Path | None = None
    """File of the trained layers (default: the published one, for percentile and e, is fetched)."""


class SummaCConv(SummaC):
    """SummaC-Conv: P(consistent) by two linear layers, from the numbers of source sentences in bins of P(entailment).

    The bins are counts, not shares: the score rises with the number of source sentences.
    """

    Options = ConvOptions
    most_claims = 10  # the layers were trained on the first ten statement units
    card = MetricCard(
        name="summac-conv",
        title="SummaC-Conv",
        summary="trained layers over the histogram of entailment that a statement sentence meets in the source",
        low=0.0,
        high=1.0,
        threshold=0.5,
        threshold_from="more probably consistent than not; the authors choose one for each data set",
        **_CARD | {"download": f"{images.VITC.download}; the trained layers, 2 kB, Apache-2.0"},
    )

    @cached_property
    def convolution(self) -> images.Convolution:
        """Return the trained layers, downloaded if needed."""
        options = self.options
        return images.find_convolution(options.conv_weights, options.bins, options.nli_labels)

    @property
    def lacking_extra(self) -> str:
        """The size and licence of the trained layers if they must be downloaded, else ""."""
        here = self.options.conv_weights or file_is_here(images.URL, images.SHA256)
        return "" if here else "2 kB of trained layers, Apache-2.0"

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the hash of the trained layers' file."""
        return {**super().identity(), "conv_weights": f"sha256:{self.convolution.sha256}"}

    def prepare(self, sources: Any, statements: Any) -> None:
        """Load the layers and the model."""
        _ = self.convolution
        super().prepare(sources, statements)

    def aggregate(self, values: images.ImageValues) -> float:
        """Return P(consistent), from the counts of source units in bins, for the first ten statement units."""
        return self.convolution.score(values[:, :, : self.most_claims], self.options.agg)
