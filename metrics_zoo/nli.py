"""Any cross-encoder trained on natural language inference, by hub id: P(entailment), or less P(contradiction)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.classifier import LogitTable, PairClassifier, answers_of, worded_logits
from metaeval.scoring.backends.model_loading import load_tokenizer
from metaeval.scoring.backends.model_metric import LoadedModelMetric, ModelOptions, of_checkpoint, probability
from metaeval.scoring.backends.tokenization import PairTokens
from metaeval.scoring.contract import MetricCard, PairScore, ThreeWay

if TYPE_CHECKING:
    import torch

Label = Literal["entailment", "neutral", "contradiction", "not_entailment"]

# The names of the labels in published models, lower-cased, letters only.
_SPELLINGS: dict[Label, frozenset[str]] = {
    "entailment": frozenset("entailment entail entails entailed supports supported support".split()),
    "neutral": frozenset("neutral nei notenoughinfo notenoughinformation".split()),
    "contradiction": frozenset("contradiction contradict contradicts contradictory refutes refuted refute".split()),
    "not_entailment": frozenset("notentailment notentailed nonentailment notsupported".split()),
}
_SETS = ({"entailment", "neutral", "contradiction"}, {"entailment", "contradiction"}, {"entailment", "not_entailment"})
_NO_LIMIT = 10**6  # a tokenizer that knows no limit says 1e30
_USUAL_LIMIT = 512


class NLIOptions(ModelOptions):
    """Options of an NLI cross-encoder."""

    score: Literal["entailment", "ent-minus-con"] = "entailment"
    """P(entailment), or P(entailment) - P(contradiction)."""
    labels: str = ""
    """Model's labels in its own order, such as entailment,neutral,contradiction, where its config.json does not name
    them."""
    max_tokens: Annotated[int, Field(ge=0)] = 0
    """A smaller input limit than the model's (0: the model's)."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model."""


class NLI(LoadedModelMetric):
    """P(entailment) of an NLI cross-encoder, source as premise and statement as hypothesis; long sources are cut."""

    checkpoint = Checkpoint(
        "cross-encoder/nli-deberta-v3-small", "568 MB, Apache-2.0", "fa2804872c3b4bd748f38c0185cc85775361e735"
    )
    Options = NLIOptions
    card = MetricCard(
        name="nli",
        title="NLI",
        family="classifier",
        summary="P(entailment) of a cross-encoder of your choice (score=ent-minus-con: from -1 to 1)",
        paper="He et al. 2023, DeBERTaV3 (2111.09543), fine-tuned on SNLI and MultiNLI; others: see the model's page",
        licence="Apache-2.0",
        **probability(half="entailment is more probable than the other classes together"),
        input_limit=_USUAL_LIMIT,
        truncation="source",
        template="source and statement as the tokenizer's pair",
        parameters="142 M",
        three_way=True,
        **of_checkpoint(checkpoint),
    )

    def range_by_options(self) -> Mapping[str, Any]:
        """Return that a difference of two probabilities begins at -1, and favours neither at 0."""
        return {"low": -1.0, "neutral": 0.0, "threshold": 0.0} if self.options.score == "ent-minus-con" else {}

    @cached_property
    def model(self) -> PairClassifier:
        """Return the classifier, loaded when first used; raises `UserError` if it is not an NLI classifier."""
        from transformers import AutoModelForSequenceClassification

        options = self.options
        trust = {"trust_remote_code": options.trust_remote_code}
        model = self.load(AutoModelForSequenceClassification, **trust)
        self.labels = read_labels(model.config, options.labels, self.wanted.hub_id)
        if options.score == "ent-minus-con" and "contradiction" not in self.labels:
            raise UserError(f"score=ent-minus-con needs the label contradiction, which {self.wanted.hub_id} lacks.")
        tokenizer = load_tokenizer(self.model_folder, **trust)
        limit = input_limit(model, tokenizer)
        tokens = PairTokens(tokenizer, min(options.max_tokens or limit, limit), "source")
        return PairClassifier(model, tokens, self.batch_tokens, self.device)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a blank statement is EMPTY, an empty source is a premise like any other."""
        table = worded_logits(self.model, sources, statements)
        log_p = self._log_p(table)
        scores = log_p.exp()[:, self.labels.index("entailment")]
        if self.options.score == "ent-minus-con":
            scores = scores - log_p.exp()[:, self.labels.index("contradiction")]
        return answers_of(statements, scores.tolist(), table)

    def entail(self, sources: Sequence[str], statements: Sequence[str]) -> list[ThreeWay | None]:
        """Return log-probabilities of the three classes, None for a blank statement; `UserError` if there are two."""
        _ = self.model
        if len(self.labels) != 3:
            raise UserError(f"{self.wanted.hub_id} has only {' and '.join(self.labels)}: choose a three-way model.")
        order = [self.labels.index(label) for label in ("entailment", "neutral", "contradiction")]
        rows = iter(self._log_p(worded_logits(self.model, sources, statements))[:, order].tolist())
        return [ThreeWay(*next(rows)) if statement.strip() else None for statement in statements]

    def _log_p(self, table: LogitTable) -> torch.Tensor:
        """Return the log-probabilities of the labels, (pairs, labels) fp64."""
        return table.values.reshape(-1, len(self.labels)).double().log_softmax(-1)


def read_labels(config: Any, option: str, hub_id: str) -> list[Label]:
    """Return the label of each of a model's logits, from the option (names with commas) or else its config.json.

    Raises `UserError` where they are not those of NLI: three, or entailment and its opposite.
    """
    count = int(config.num_labels)
    named = option.split(",") if option else [str(config.id2label.get(number, "?")) for number in range(count)]
    plain = [re.sub("[^a-z]", "", label.lower()) for label in named]
    known_labels = [next((label for label, known in _SPELLINGS.items() if word in known), None) for word in plain]
    labels = [label for label in known_labels if label is not None]
    if len(named) == count and len(labels) == count and {*labels} in _SETS and len({*labels}) == count:
        return labels
    raise UserError(
        f"The {count} labels of {hub_id} ({', '.join(map(str.strip, named))}) are not NLI's: name them in its order, "
        "as metric_options.nli.labels=entailment,neutral,contradiction (or entailment,not_entailment)."
    )


def input_limit(model: Any, tokenizer: Any) -> int:
    """Return the input limit in tokens: the smaller of the tokenizer's and the model's; 512 if both are unknown.

    RoBERTa's positions start after the padding's id: 514 of them hold 512 tokens.
    """
    limits = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < _NO_LIMIT else []
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:
        table = next((part for name, part in model.named_modules() if name.endswith("position_embeddings")), None)
        start = getattr(table, "padding_idx", None)
        limits.append(int(positions) - (0 if start is None else int(start) + 1))
    return min(limits, default=_USUAL_LIMIT)
