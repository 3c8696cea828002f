"""Greedy matching of token vectors, as BERTScore does it: every token with its most similar one on the other side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from metaeval.scoring.backends.batches import one_thread
from metaeval.scoring.backends.encoder import Encoded

if TYPE_CHECKING:
    import torch


def match_pairs(
    pairs: Sequence[tuple[str, str]], texts: Mapping[str, Encoded], weigh: Callable[[Encoded], torch.Tensor]
) -> list[tuple[float, float]]:
    """(precision, recall) of each (source, statement); one matrix product for all statements of a source.

    texts: unit vectors, one for each token. weigh: a text's token weights, (tokens,) fp64; their sum is free, and all
    0 gives NaN. A token without weight takes no part in the mean, and may still be another token's best match.
    """
    import torch

    by_source: dict[str, list[int]] = {}
    for number, (source, _) in enumerate(pairs):
        by_source.setdefault(source, []).append(number)
    found: dict[int, tuple[float, float]] = {}
    with one_thread(), torch.inference_mode():
        weights = {text: weigh(item) for text, item in texts.items()}
        for source, numbers in by_source.items():
            judged = [pairs[number][1] for number in numbers]
            sides = match(
                texts[source].states,
                [texts[text].states for text in judged],
                weights[source],
                [weights[t] for t in judged],
            )
            found.update(zip(numbers, sides, strict=True))
    return [found[number] for number in range(len(pairs))]


def match(
    source: torch.Tensor,
    statements: Sequence[torch.Tensor],
    source_weights: torch.Tensor,
    statement_weights: Sequence[torch.Tensor],
) -> list[tuple[float, float]]:
    """(precision, recall) of each statement against one source: (tokens, dimensions) and (tokens,) each."""
    import torch

    lengths = torch.tensor([len(rows) for rows in statements], device=source.device)
    near = torch.cat(list(statements)) @ source.T
    weights = torch.cat(list(statement_weights)).to(source.device)
    weighted = torch.stack([near.amax(1).double() * weights, weights], dim=1)
    sums = torch.segment_reduce(weighted, "sum", lengths=lengths, axis=0)
    best = torch.segment_reduce(near, "max", lengths=lengths, axis=0)
    own = source_weights.to(source.device)
    recalls = best.double() @ own / own.sum()
    return [(one, other) for one, other in torch.stack([sums[:, 0] / sums[:, 1], recalls], dim=1).tolist()]
