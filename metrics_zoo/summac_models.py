"""The NLI models that SummaC knows by name, and which of a model's labels means what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint

Order = tuple[int, int, int]
"""Label numbers of entailment, contradiction and neutral."""


class NLIModel(NamedTuple):
    """A published NLI model and the order of its labels in SummaC's own table."""

    hub_id: str
    order: Order


VITC = Checkpoint("tals/albert-xlarge-vitaminc-mnli", "235 MB, no licence stated")

MODELS: dict[str, NLIModel] = {
    "vitc": NLIModel(VITC.hub_id, (0, 1, 2)),
    "vitc-base": NLIModel("tals/albert-base-vitaminc-mnli", (0, 1, 2)),
    "vitc-only": NLIModel("tals/albert-xlarge-vitaminc", (0, 1, 2)),
    "mnli": NLIModel("FacebookAI/roberta-large-mnli", (2, 0, 1)),
    "mnli-base": NLIModel("microsoft/deberta-base-mnli", (2, 0, 1)),
    "anli": NLIModel("ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli", (0, 2, 1)),
}
"""By the names of SummaC's own table."""

GONE = {"snli-base": "boychaboy/SNLI_roberta-base", "snli-large": "boychaboy/SNLI_roberta-large"}
"""Names of the table whose checkpoints the hub no longer has."""

_MEANINGS = {"entailment": 0, "supports": 0, "contradiction": 1, "refutes": 1, "neutral": 2, "not enough info": 2}


def check_model(wish: Any) -> Any:
    """Pass on a name of the table, a hub id, or none; raises `ValueError` for anything else."""
    if wish in GONE:
        raise ValueError(f"{GONE[wish]} ({wish}) is no longer published; known are {', '.join(MODELS)}, or a hub id")
    if isinstance(wish, str) and wish not in MODELS and "/" not in wish:
        raise ValueError(f"{wish!r} is none of {', '.join(MODELS)}, nor a hub id (ORGANISATION/NAME)")
    return wish


def hub_id(wish: str | None) -> str | None:
    """The hub id of a name of the table; a hub id stays what it is."""
    return MODELS[wish].hub_id if wish in MODELS else wish


def as_published(tokenizer: Any) -> Any:
    """Give ALBERT's tokenizer back its piece for white space at a text's end, as SummaC was published with it.

    Transformers 5 splits at white space first, and so drops that piece; scores of whole documents depend on it.
    """
    if type(tokenizer).__name__.startswith("Albert"):
        from tokenizers import Regex, normalizers, pre_tokenizers

        inner = tokenizer.backend_tokenizer
        inner.normalizer = normalizers.Sequence([inner.normalizer, normalizers.Replace(Regex(r"\s+"), " ")])
        inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer


def label_order(config: Mapping[str, Any], wish: str) -> Order:
    """Which label is which, by the words in the model's configuration, else by the table.

    Raises `UserError` when the words say something else than the table, or neither says it.
    """
    labels = {int(number): str(label) for number, label in config.get("id2label", {}).items()}
    places = {_MEANINGS.get(label.lower().replace("_", " ")): number for number, label in labels.items()}
    read = (places[0], places[1], places[2]) if len(labels) == 3 and places.keys() == {0, 1, 2} else None
    table = next((model.order for name, model in MODELS.items() if wish in (name, model.hub_id)), None)
    generic = all(label.startswith("LABEL_") for label in labels.values())
    said = ", ".join(f"{number} {label}" for number, label in sorted(labels.items())) or "none"
    order = read or (table if generic else None)
    if order is None:
        raise UserError(
            f"The labels of {wish} ({said}) are not entailment, contradiction and neutral: SummaC needs a three-way "
            f"NLI model, such as {', '.join(MODELS)}."
        )
    if read and table and read != table:
        raise UserError(
            f"The labels of {wish} ({said}) are not in the order of the published model: fetch it again, or say with "
            "the option 'model' which other model the folder holds."
        )
    return order
