"""What SummaC-ZS and SummaC-Conv share: options, model, and the pass that makes each pair's NLI image."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.classifier import PairClassifier
from metaeval.scoring.backends.model_metric import ModelMetric, ModelOptions
from metaeval.scoring.backends.sentences import Splitter, Wish, find_splitter
from metaeval.scoring.backends.tokens import PairTokens
from metaeval.scoring.contract import PairScore, Status, TwoStepMetric
from metrics_zoo.summac_image import NLIImage, Passes
from metrics_zoo.summac_models import VITC, Order, as_published, check_model, hub_id, label_order
from metrics_zoo.summac_units import MOST_SOURCE_UNITS, check_granularity, cut_units

_MAX_TOKENS = 500


class SummaCOptions(ModelOptions):
    """model: vitc, vitc-base, vitc-only, mnli, mnli-base, anli, or a hub id of a three-way NLI model.

    granularity: sentence, paragraph, document or 2sents, or two of them as SOURCE-STATEMENT. fallback: give pairs
    that hold nothing to score the number that the official code gives them.
    """

    runtime: ClassVar[frozenset[str]] = ModelOptions.runtime | {"splitter"}

    model: Annotated[str | None, BeforeValidator(check_model)] = None
    granularity: Annotated[str, BeforeValidator(check_granularity)] = "sentence"
    splitter: Wish = "auto"
    fallback: bool = False


class SummaC(TwoStepMetric, ModelMetric):
    """Each source unit against each statement unit through an NLI model: each two units of a block once.

    There are no three-way probabilities of a pair: the best entailment and the best contradiction of a statement
    sentence can come from different source sentences, and no neutral class goes with them.
    """

    checkpoint = VITC
    Options = SummaCOptions

    @cached_property
    def wanted(self) -> Checkpoint:
        """The checkpoint that the options ask for, by SummaC's name or hub id."""
        return self.checkpoint.at(hub_id(self.options.model), self.options.revision)

    @property
    def block_tokens(self) -> int:
        """Fewer than for other metrics: a source is read once for every sentence of each of its statements."""
        return 4 * self.batch_tokens

    @cached_property
    def splitter(self) -> Splitter:
        """The sentence splitter; one without a name where no granularity splits sentences."""
        if set(self._granularities) & {"sentence", "2sents"}:
            return find_splitter(self.options.splitter)
        return Splitter("none", lambda text: [text])

    @cached_property
    def labels(self) -> Order:
        """The model's label numbers of entailment, contradiction and neutral."""
        from metaeval.scoring.backends.models import broken_files

        with broken_files(self.model_folder):
            config = json.loads((self.model_folder.folder / "config.json").read_text(encoding="utf-8"))
        return label_order(config, self.options.model or self.wanted.hub_id)

    @cached_property
    def tokens(self) -> PairTokens:
        """How two units become the model's input."""
        from metaeval.scoring.backends.models import load_tokenizer

        # The official code asks for cutting the source alone, and gets the longest side: its truncation=True wins.
        return PairTokens(as_published(load_tokenizer(self.model_folder)), _MAX_TOKENS, "longest")

    @cached_property
    def model(self) -> PairClassifier:
        """The NLI model, loaded when first asked for."""
        from transformers import AutoModelForSequenceClassification

        from metaeval.scoring.backends.models import load_model

        _ = self.labels  # wrong labels are told before a model is loaded
        model = load_model(AutoModelForSequenceClassification, self.model_folder, self.options.dtype, self.device)
        return PairClassifier(model, self.tokens, self.batch_tokens, self.device)

    def identity(self) -> dict[str, Any]:
        """With the splitter that runs, and the labels' order."""
        return {**super().identity(), "splitter": self.splitter.name, "labels": list(self.labels)}

    def observed(self) -> Mapping[str, Any]:
        """What an image depends on."""
        return {
            "of": "summac image 1",
            "weights": self.model_folder.fingerprint,
            "dtype": self.options.dtype,
            "labels": list(self.labels),
            "granularity": list(self._granularities),
            "splitter": self.splitter.name,
        }

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model."""
        _ = self.model

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[NLIImage]:
        """The NLI image of each pair."""
        split, (one, other) = self.splitter.split, self._granularities
        read = {text: cut_units(text, one, split, MOST_SOURCE_UNITS) for text in dict.fromkeys(sources)}
        claimed = {text: cut_units(text, other, split) for text in dict.fromkeys(statements)}
        pairs = list(zip(sources, statements, strict=True))
        compared = dict.fromkeys(
            (unit, claim)
            for source, statement in pairs
            for unit in read[source].kept
            for claim in claimed[statement].kept
        )
        found = self.model.table([unit for unit, _ in compared], [claim for _, claim in compared])
        pieces = {piece for units in (*read.values(), *claimed.values()) for side in units for piece in side}
        sizes = {piece: len(ids) for piece, ids in self.tokens.texts.ids(sorted(pieces)).items()}
        passes = Passes(compared, found, self.labels, sizes)
        return [passes.image(pair, read[pair[0]], claimed[pair[1]]) for pair in pairs]

    def judge(self, observations: Sequence[NLIImage]) -> list[PairScore]:
        """A score from each image."""
        return [self._answer(image) for image in observations]

    @abstractmethod
    def aggregate(self, values: NDArray[np.float64]) -> float:
        """The score of an image, (3, source units, statement units)."""

    @property
    def most_claims(self) -> int | None:
        """How many statement units count; None for all."""
        return None

    @property
    def _granularities(self) -> tuple[str, str]:
        one, _, other = self.options.granularity.partition("-")
        return one, other or one

    def _answer(self, image: NLIImage) -> PairScore:
        if image.status is not Status.OK and not self.options.fallback:
            return PairScore(None, image.status, image.tokens, image.tokens)
        most = self.most_claims
        late = 0 if most is None else int(image.statement_tokens[most:].sum())
        cut = image.unseen + int(image.statement_unseen[:most].sum()) + late
        return PairScore(self.aggregate(image.values.astype(np.float64)), tokens=image.tokens, cut=cut)
