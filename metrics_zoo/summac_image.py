"""SummaC's NLI image (NLI probabilities of each source unit with each statement unit), and SummaC-Conv's layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, fetch_file
from metaeval.scoring.backends.classifier import LogitTable
from metaeval.scoring.contract import Status

GRANULARITIES = ("sentence", "paragraph", "document", "2sents")

MOST_SOURCE_UNITS = 100
_TOO_SHORT = 10  # a sentence or paragraph of at most so many characters is dropped

Counts = NDArray[np.int64]
ImageValues = NDArray[np.float64]


class CutText(NamedTuple):
    """The units (such as sentences) of a text in order, and the pieces dropped as too short or too many."""

    kept: list[str]
    dropped: list[str]


def cut_units(text: str, granularity: str, split: Callable[[str], Sequence[str]], most: int | None = None) -> CutText:
    """Return a text cut into its first `most` units (None: all), and what is dropped. split: returns its sentences.

    granularity: "sentence": sentences of more than 10 characters; "2sents": each of those with the next one;
    "paragraph": text between blank lines if there are any, else lines, stripped, of more than 10 characters;
    "document": the text.
    """
    if granularity == "document":
        pieces: Sequence[str] = [text]
    elif granularity == "paragraph":
        pieces = [piece.strip() for piece in text.split("\n\n" if "\n\n" in text else "\n")]
    else:
        pieces = split(text)
    long = [piece for piece in pieces if granularity == "document" or len(piece) > _TOO_SHORT]
    dropped = [piece for piece in pieces if granularity != "document" and len(piece) <= _TOO_SHORT]
    if granularity == "2sents":
        # As in the official code, the last sentence is a window too, alone.
        long = [" ".join(long[number : number + 2]) for number in range(len(long))]
    return CutText(long[:most], dropped if most is None else [*dropped, *long[most:]])


def unseen_tokens(sources: Counts, statements: Counts, cut: Counts) -> tuple[Counts, Counts]:
    """Return the numbers of tokens of each source unit, (S,), and each statement unit, (T,), that no model input has.

    sources, statements: tokens of the units, (S,) and (T,). cut: tokens cut off in each input, from the longest side,
    or from the statement when both are equally long, (S, T).
    """
    first, second = sources[:, None], statements[None, :]
    room = first + second - cut
    half = room // 2 + (first > second) * (room % 2)
    kept = np.minimum(first, np.maximum(room - second, half))
    return sources - kept.max(axis=1), statements - (room - kept).max(axis=0)


def check_granularity(wish: Any) -> Any:
    """Return `wish` as it is: one of `GRANULARITIES`, or two as SOURCE-STATEMENT; raises `ValueError` for others."""
    parts = str(wish).split("-")
    if len(parts) > 2 or not set(GRANULARITIES).issuperset(parts):
        raise ValueError(f"{wish!r} is none of {', '.join(GRANULARITIES)}, nor two as SOURCE-STATEMENT")
    return wish


LabelOrder = tuple[int, int, int]
"""Label numbers of entailment, contradiction and neutral."""


class NLIModel(NamedTuple):
    """A published NLI model and the order of its labels in SummaC's own table."""

    hub_id: str
    order: LabelOrder


VITC = Checkpoint("tals/albert-xlarge-vitaminc-mnli", "235 MB, no licence stated")

MODELS: dict[str, NLIModel] = {
    "vitc": NLIModel(VITC.hub_id, (0, 1, 2)),
    "vitc-base": NLIModel("tals/albert-base-vitaminc-mnli", (0, 1, 2)),
    "vitc-only": NLIModel("tals/albert-xlarge-vitaminc", (0, 1, 2)),
    "mnli": NLIModel("FacebookAI/roberta-large-mnli", (2, 0, 1)),
    "mnli-base": NLIModel("microsoft/deberta-base-mnli", (2, 0, 1)),
    "anli": NLIModel("ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli", (0, 2, 1)),
}
"""NLI models by the names of SummaC's own table."""

GONE = {"snli-base": "boychaboy/SNLI_roberta-base", "snli-large": "boychaboy/SNLI_roberta-large"}
"""Names of the table whose checkpoints the hub no longer has."""

_MEANINGS = {"entailment": 0, "supports": 0, "contradiction": 1, "refutes": 1, "neutral": 2, "not enough info": 2}


def check_model(wish: Any) -> Any:
    """Return `wish` as it is: a name in `MODELS`, a hub id, a path, or None; `ValueError` for any other name."""
    if wish in GONE:
        raise ValueError(f"{GONE[wish]} ({wish}) is no longer published; known are {', '.join(MODELS)}, or a hub id")
    if isinstance(wish, str) and wish not in MODELS and "/" not in wish and not Path(wish).exists():
        raise ValueError(f"{wish!r} is none of {', '.join(MODELS)}, nor a hub id (ORGANISATION/NAME)")
    return wish


def hub_id(wish: str | None) -> str | None:
    """Return the hub id of a name in `MODELS`; anything else (a hub id, or None) as it is."""
    return MODELS[wish].hub_id if wish in MODELS else wish


def as_published(tokenizer: Any) -> Any:
    """Return the tokenizer; ALBERT's is changed in place to keep its token for white space at a text's end.

    SummaC was published with that token. Transformers 5 splits at white space first, and so drops that token; scores of
    whole documents depend on it.
    """
    if type(tokenizer).__name__.startswith("Albert"):
        from tokenizers import Regex, normalizers, pre_tokenizers

        inner = tokenizer.backend_tokenizer
        inner.normalizer = normalizers.Sequence([inner.normalizer, normalizers.Replace(Regex(r"\s+"), " ")])
        inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer


def label_order(config: Mapping[str, Any], wish: str) -> LabelOrder:
    """Return the order of a model's labels, by their names in its configuration, else by the table of published models.

    wish: a name in `MODELS` or a hub id. The table is used only for labels named LABEL_0 and so on. Raises `UserError`
    when names and table differ, or neither has the order.
    """
    labels = {int(number): str(label) for number, label in config.get("id2label", {}).items()}
    places = {_MEANINGS.get(label.lower().replace("_", " ")): number for number, label in labels.items()}
    read = (places[0], places[1], places[2]) if len(labels) == 3 and places.keys() == {0, 1, 2} else None
    table = next((model.order for name, model in MODELS.items() if wish in (name, model.hub_id)), None)
    generic = all(label.startswith("LABEL_") for label in labels.values())
    named = ", ".join(f"{number} {label}" for number, label in sorted(labels.items())) or "none"
    order = read or (table if generic else None)
    if order is None:
        raise UserError(f"The labels of {wish} ({named}) are not those of three-way NLI: try {', '.join(MODELS)}.")
    if read and table and read != table:
        raise UserError(f"The labels of {wish} ({named}) are not in the published order: fetch it again.")
    return order


class NLIImage(NamedTuple):
    """The NLI model's output for a pair.

    values: probabilities of entailment, contradiction and neutral, (3, source units, statement units), fp32; zeros, (3,
    1, 1), where a side has no unit. status: EMPTY if the statement, or a source without units, is blank; else
    NOTHING_TO_SCORE if a side has no unit; else OK. tokens: of both texts, without special tokens. unseen: how many
    tokens of the source, and of dropped pieces, no model input has; all without a unit. statement_tokens,
    statement_unseen: of each statement unit, how many tokens it has, and how many of them no model input has.
    """

    values: NDArray[np.float32]
    status: Status
    tokens: int
    unseen: int
    statement_tokens: Counts
    statement_unseen: Counts


class Passes:
    """The NLI model's outputs by (source unit, statement unit). sizes: number of tokens of each unit and piece."""

    def __init__(
        self, compared: Iterable[tuple[str, str]], table: LogitTable, labels: LabelOrder, sizes: Mapping[str, int]
    ) -> None:
        self._row = {pair: row for row, pair in enumerate(compared)}
        self._probabilities = table.values.softmax(-1).numpy()[:, list(labels) if self._row else []]
        self._cut = np.array(table.cut, dtype=np.int64)
        self._sizes = sizes

    def image(self, pair: tuple[str, str], read: CutText, claimed: CutText) -> NLIImage:
        """Return the NLI image of a (source, statement): the matrix of the model's outputs for their units."""
        sources, statements = self._counts(read.kept), self._counts(claimed.kept)
        dropped = int(self._counts([*read.dropped, *claimed.dropped]).sum())
        tokens = dropped + int(sources.sum() + statements.sum())
        wordless = not pair[1].strip()
        if not (read.kept and claimed.kept):
            status = Status.EMPTY if wordless or not pair[0].strip() else Status.NOTHING_TO_SCORE
            return NLIImage(np.zeros((3, 1, 1), np.float32), status, tokens, tokens, *_NO_CLAIMS)
        rows = np.array([[self._row[unit, claim] for claim in claimed.kept] for unit in read.kept])
        values = np.ascontiguousarray(self._probabilities[rows].transpose(2, 0, 1))
        unread, unseen = unseen_tokens(sources, statements, self._cut[rows])
        status = Status.EMPTY if wordless else Status.OK
        return NLIImage(values, status, tokens, dropped + int(unread.sum()), statements, unseen)

    def _counts(self, pieces: Sequence[str]) -> Counts:
        return np.array([self._sizes[piece] for piece in pieces], dtype=np.int64)


_NO_CLAIMS = (np.zeros(0, np.int64), np.zeros(0, np.int64))


URL = "https://github.com/tingofurro/summac/raw/master/summac_conv_vitc_sent_perc_e.bin"
SHA256 = "cd880581f59bd47b8968c7f48d754cd617dfe9b256d8d76fdcbc0fa4a3b3c6fe"
_SIZE = 1811  # bytes

# The published bins are narrow where entailment probabilities of real summaries are dense.
_LOW = (0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37)
_HIGH = (0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0)
_PLACES = {"e": 0, "c": 1, "n": 2}  # of the labels in an image


@dataclass(frozen=True)
class Convolution:
    """SummaC-Conv's layers: from bins to a number for each statement unit, then from three numbers to two logits.

    edges: of the bins, (bins + 1,). labels: indices of the probabilities that are counted. mlp: (labels * bins,) and
    a bias; final: (2, 3) and (2,). sha256: of the file.
    """

    edges: ImageValues
    labels: tuple[int, ...]
    mlp: ImageValues
    mlp_bias: float
    final: ImageValues
    final_bias: ImageValues
    sha256: str

    def histogram(self, values: ImageValues) -> ImageValues:
        """Return, for each statement unit, how many source units fall into each bin of each label's probability.

        values: of an NLI image, (3, source units, statement units). The result is (statement units, labels *
        bins), for the labels that are counted. A bin includes its lower edge, the last one both edges.
        """
        places = np.searchsorted(self.edges[1:-1], values[list(self.labels)], side="right")
        counts: ImageValues = (places[..., None] == np.arange(len(self.edges) - 1)).sum(axis=1, dtype=np.float64)
        return counts.transpose(1, 0, 2).reshape(values.shape[2], -1)

    def score(self, values: ImageValues, agg: str) -> float:
        """Return P(consistent) of an image's values; `agg` is mean, min, max or all (min, mean and max)."""
        units = self.histogram(values) @ self.mlp + self.mlp_bias
        gathered = {"min": units.min(), "mean": units.mean(), "max": units.max()}
        features = list(gathered.values()) if agg == "all" else [gathered[agg]] * 3
        logits = self.final @ np.array(features) + self.final_bias
        return float(1 / (1 + np.exp(logits[0] - logits[1])))


def check_bins(wish: str) -> str:
    """Return `wish` as it is: "percentile", or "evenN" with N of 2 or more; raises `ValueError` for anything else."""
    count = wish.removeprefix("even")
    if wish != "percentile" and not (wish != count and count.isascii() and count.isdigit() and int(count) > 1):
        raise ValueError(f"{wish!r} is neither percentile nor evenN with N of 2 or more, such as even50")
    return wish


def find_convolution(file: Path | None, bins: str, nli_labels: str) -> Convolution:
    """Return the layers in `file`; None: the published ones, downloaded if need be.

    Raises `UserError` when the file does not exist, or does not hold layers for these bins and labels.
    """
    if file is None and (bins, nli_labels) != ("percentile", "e"):
        raise UserError(f"No layers are published for bins={bins} and nli_labels={nli_labels}: give conv_weights.")
    by_hand = f"Or put {URL.rpartition('/')[2]} into a folder, and name it with the metric's option conv_weights."
    path = file or fetch_file(URL, SHA256, _SIZE, by_hand)
    if not path.is_file():
        raise UserError(f"There is no file {path}: give another as conv_weights, or leave it out.")
    layers = _load(path)
    edges = np.array([*_LOW, *_HIGH])
    if bins != "percentile":  # as in the official code: for some N rounding adds an almost empty bin
        edges = np.array([*np.arange(0, 1, 1 / int(bins.removeprefix("even"))), 1.0])
    wanted = {
        "mlp.weight": (1, len(nli_labels) * (len(edges) - 1)),
        "mlp.bias": (1,),
        "layer_final.weight": (2, 3),
        "layer_final.bias": (2,),
    }
    shapes = {name: tuple(layer.shape) for name, layer in layers.items()}
    if shapes != wanted:
        raise UserError(f"{path} holds {shapes or 'nothing'}; bins={bins} and nli_labels={nli_labels} need {wanted}.")
    return Convolution(
        edges,
        tuple(_PLACES[label] for label in "ecn" if label in nli_labels),
        layers["mlp.weight"][0],
        float(layers["mlp.bias"][0]),
        layers["layer_final.weight"],
        layers["layer_final.bias"],
        sha256(path.read_bytes()).hexdigest(),
    )


def _load(path: Path) -> dict[str, ImageValues]:
    import torch

    try:
        layers: Any = torch.load(path, map_location="cpu", weights_only=True)
        return {str(name): layer.double().numpy() for name, layer in layers.items()}
    except Exception as error:
        raise UserError(f"{path} holds no layers of summac-conv ({type(error).__name__}): fetch it again.") from error
