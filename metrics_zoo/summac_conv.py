"""The trained layers of SummaC-Conv: where they come from, and what they make of an NLI image."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import fetch_file

Values = NDArray[np.float64]

URL = "https://github.com/tingofurro/summac/raw/master/summac_conv_vitc_sent_perc_e.bin"
SHA256 = "cd880581f59bd47b8968c7f48d754cd617dfe9b256d8d76fdcbc0fa4a3b3c6fe"
_SIZE = 1811  # bytes

# Where entailment probabilities of real summaries lie dense, the published bins are narrow.
_LOW = (0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37)
_HIGH = (0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0)
_PLACES = {"e": 0, "c": 1, "n": 2}  # of the labels in an image


@dataclass(frozen=True)
class Convolution:
    """The layers: bins to a number for each statement unit, then three numbers to two logits.

    edges: of the bins, (bins + 1,). labels: places of the probabilities that are counted. mlp: (labels * bins,) and
    a bias; final: (2, 3) and (2,). sha256: of the file.
    """

    edges: Values
    labels: tuple[int, ...]
    mlp: Values
    mlp_bias: float
    final: Values
    final_bias: Values
    sha256: str

    def histogram(self, values: Values) -> Values:
        """Counts of source units in each bin, (statement units, labels * bins), of an image (3, source, statement).

        A bin holds its lower edge; the last one both.
        """
        places = np.searchsorted(self.edges[1:-1], values[list(self.labels)], side="right")
        counts: Values = (places[..., None] == np.arange(len(self.edges) - 1)).sum(axis=1, dtype=np.float64)
        return counts.transpose(1, 0, 2).reshape(values.shape[2], -1)

    def score(self, values: Values, agg: str) -> float:
        """P(consistent) of an image; `agg` is mean, min, max or all (min, mean and max)."""
        units = self.histogram(values) @ self.mlp + self.mlp_bias
        gathered = {"min": units.min(), "mean": units.mean(), "max": units.max()}
        features = list(gathered.values()) if agg == "all" else [gathered[agg]] * 3
        logits = self.final @ np.array(features) + self.final_bias
        return float(1 / (1 + np.exp(logits[0] - logits[1])))


def check_bins(wish: str) -> str:
    """Pass on `percentile` or `evenN`; raises `ValueError` for anything else."""
    count = wish.removeprefix("even")
    if wish != "percentile" and not (wish != count and count.isascii() and count.isdigit() and int(count) > 1):
        raise ValueError(f"{wish!r} is neither percentile nor evenN, as even50")
    return wish


def find_convolution(given: Path | None, bins: str, nli_labels: str) -> Convolution:
    """The layers in the file `given`, else the published ones, fetched if need be.

    Raises `UserError` when there is no such file, when it holds no such layers, or layers for other bins or labels.
    """
    if given is None and (bins, nli_labels) != ("percentile", "e"):
        raise UserError(
            f"The published layers of summac-conv are for bins=percentile and nli_labels=e, not {bins} and "
            f"{nli_labels}: name a file of your own with conv_weights, or leave both options out."
        )
    by_hand = f"Or put {URL.rpartition('/')[2]} into a folder, and name it with the metric's option conv_weights."
    path = given or fetch_file(URL, SHA256, _SIZE, by_hand)
    if not path.is_file():
        raise UserError(f"There is no file {path}: name one with conv_weights, or leave it out for the published one.")
    layers = _load(path)
    edges = _edges(bins)
    wanted = {
        "mlp.weight": (1, len(nli_labels) * (len(edges) - 1)),
        "mlp.bias": (1,),
        "layer_final.weight": (2, 3),
        "layer_final.bias": (2,),
    }
    found = {name: tuple(layer.shape) for name, layer in layers.items()}
    if found != wanted:
        raise UserError(
            f"{path} does not hold the layers of summac-conv for bins={bins} and nli_labels={nli_labels}: it has "
            f"{found or 'no tensors'}, wanted is {wanted}."
        )
    return Convolution(
        edges,
        tuple(_PLACES[label] for label in "ecn" if label in nli_labels),
        layers["mlp.weight"][0],
        float(layers["mlp.bias"][0]),
        layers["layer_final.weight"],
        layers["layer_final.bias"],
        sha256(path.read_bytes()).hexdigest(),
    )


def _load(path: Path) -> dict[str, Values]:
    import torch

    try:
        layers: Any = torch.load(path, map_location="cpu", weights_only=True)
        return {str(name): layer.double().numpy() for name, layer in layers.items()}
    except Exception as error:
        reason = " ".join(str(error).split())[:120]
        raise UserError(
            f"{path} cannot be read as layers of summac-conv ({type(error).__name__}: {reason}): fetch it again."
        ) from error


def _edges(bins: str) -> Values:
    if bins == "percentile":
        return np.array([*_LOW, *_HIGH])
    # As the official code makes them: for some N rounding adds a bin that holds next to nothing.
    return np.array([*np.arange(0, 1, 1 / int(bins.removeprefix("even"))), 1.0])
