"""FactCC (Kryscinski et al., 2020): one BERT classifier over source and statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.classifier import PairClassifier, answers_of, worded_logits
from metaeval.scoring.backends.model_loading import load_tokenizer
from metaeval.scoring.backends.model_metric import LoadedModelMetric, of_checkpoint, probability
from metaeval.scoring.backends.tokenization import PairTokens
from metaeval.scoring.contract import MetricCard, PairScore


class FactCC(LoadedModelMetric):
    """FactCC: P(CORRECT), the softmax over the two labels; the official script prints only the more likely label."""

    checkpoint = Checkpoint(
        "manueldeprada/FactCC", "438 MB, BSD-3-Clause-Clear", "c7b3148015d4ddc263f6e2acb2689e90ac061669"
    )
    card = MetricCard(
        name="factcc",
        title="FactCC",
        family="classifier",
        summary="P(CORRECT) of a BERT classifier trained on summaries with made errors",
        paper="Kryscinski et al. 2020, Evaluating the Factual Consistency of Abstractive ... (arXiv 1910.12840)",
        licence="BSD-3-Clause",
        **probability(half="the official code takes the more probable of two classes"),
        input_limit=512,
        truncation="longest",
        template="[CLS] source [SEP] statement [SEP]",
        parameters="110 M",
        **of_checkpoint(checkpoint),
    )

    @cached_property
    def model(self) -> PairClassifier:
        """The classifier, loaded when first used."""
        from transformers import AutoModelForSequenceClassification

        model = self.load(AutoModelForSequenceClassification)
        first = str(model.config.id2label.get(0)).upper()
        if model.config.num_labels != 2 or first not in ("CORRECT", "LABEL_0"):
            raise UserError(
                f"{self.wanted.hub_id} has {model.config.num_labels} labels, the first {first}; FactCC has CORRECT and "
                "INCORRECT: check the model id."
            )
        # do_lower_case: bert-base-uncased's vocabulary; not every copy of the checkpoint says so.
        tokens = PairTokens(load_tokenizer(self.model_folder, do_lower_case=True), 512, "longest-tie-statement")
        return PairClassifier(model, tokens, self.batch_tokens, self.device)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a blank statement is EMPTY (the official code stops or gives a meaningless number)."""
        table = worded_logits(self.model, sources, statements)
        scores = table.values.reshape(-1, 2).double().softmax(-1)[:, 0].tolist()
        return answers_of(statements, scores, table)
