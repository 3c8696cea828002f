"""A transformer encoder that reads each text once, and the greedy matching of token vectors as in BERTScore."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.scoring.backends.batches import one_thread, pad, run_batches
from metaeval.scoring.contract import Span

if TYPE_CHECKING:
    import torch

Keep = Callable[["torch.Tensor"], "torch.Tensor"]
"""Maps a text's last hidden states, (n_tokens, n_dimensions), to those that are kept, (n_kept, n_dimensions), fp32."""

KEPT_BYTES = 1_250_000_000
"""Most bytes that encoded statements may take: those of 305,000 tokens of 1,024 dimensions."""

_SLICE = 256  # statements that are encoded between two checks of their memory


@dataclass(frozen=True, slots=True)
class EncodedText:
    """An encoded text: last hidden states, ids of the tokens read, number of all tokens, and how many were cut off.

    states: (n_kept, n_dimensions), fp32, see `Keep`. Special tokens are among `ids` and in the counts.
    """

    states: torch.Tensor
    ids: list[int]
    tokens: int
    cut: int


def wordless_and_counts(first: EncodedText, second: EncodedText) -> tuple[bool, int, int]:
    """Return whether either text is without words, and the numbers of tokens and of cut tokens of both together.

    A text without words has only its two special tokens.
    """
    return min(first.tokens, second.tokens) <= 2, first.tokens + second.tokens, first.cut + second.cut


class TextEncoder:
    """A model and its tokenizer; a text's states do not depend on its batch beyond 1e-6.

    model: a transformers encoder in eval mode. tokenizer: a `tokenizers.Tokenizer` without truncation and padding.
    max_tokens: the input limit, special tokens included; a longer text loses its end. batch_tokens: most tokens of a
    batch, padding included. padding: the id of the padding token.
    """

    def __init__(
        self, model: Any, tokenizer: Any, max_tokens: int, batch_tokens: int, device: str, padding: int = 0
    ) -> None:
        self._model = model.to(device)
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._batch_tokens = batch_tokens
        self._device = device
        self._padding = padding

    def encode(self, texts: Sequence[str], keep: Keep | None = None) -> list[EncodedText]:
        """Return the encoded texts, in order.

        keep: what remains of each text's states (e.g. pooling), applied before the next batch; None: all states.
        """

        def forward(ids: list[list[int]]) -> list[torch.Tensor]:
            padded, mask = pad(ids, self._padding, self._device)
            states = self._model(input_ids=padded, attention_mask=mask).last_hidden_state
            rows = [states[row, : len(text)].float() for row, text in enumerate(ids)]
            return [row.clone() if keep is None else keep(row) for row in rows]

        ids, cuts = self.tokenise(texts)
        kept = run_batches(ids, len, forward, self._batch_tokens, self._device)
        return [
            EncodedText(states, text_ids, len(text_ids) + cut, cut)
            for states, text_ids, cut in zip(kept, ids, cuts, strict=True)
        ]

    def tokenise(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """Return two lists in the order of the texts: the ids that the model reads, and how many tokens were cut."""
        whole = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        # The closing special token stays when the end is cut.
        kept = [[*ids[:-1][: self._max_tokens - 1], *ids[-1:]] for ids in whole]
        return kept, [len(ids) - len(part) for ids, part in zip(whole, kept, strict=True)]

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return start and end, in characters, of each id that the model reads; special tokens have empty spans."""
        places: list[tuple[int, int]] = self._tokenizer.encode(text).offsets
        return [*places[:-1][: self._max_tokens - 1], *places[-1:]]


class JobTexts:
    """The encoded texts of a job: its first statements are kept, up to `budget` bytes.

    Other statements, and sources, are encoded in each block that reads them. keep: see `TextEncoder.encode`. `held`:
    bytes that are kept now. Batches depend on the job alone, so that a resumed run has the same numbers.
    """

    def __init__(self, encoder: TextEncoder, keep: Keep, budget: int = KEPT_BYTES) -> None:
        self.encoder = encoder
        self.held = 0
        self._keep = keep
        self._budget = budget
        self._kept: dict[str, EncodedText] = {}

    def prepare(self, statements: Iterable[str]) -> None:
        """Encode and keep a job's statements, in order, until the budget is spent; forget those of an earlier job."""
        self._kept, self.held = {}, 0
        unique = list(dict.fromkeys(statements))
        for first in range(0, len(unique), _SLICE):
            part = unique[first : first + _SLICE]
            for text, item in zip(part, self.encoder.encode(part, self._keep), strict=True):
                size = item.states.numel() * item.states.element_size()
                if self.held + size > self._budget:
                    return
                self._kept[text] = item
                self.held += size

    def read(self, texts: Iterable[str]) -> dict[str, EncodedText]:
        """Return the encoding of each distinct text, by text; those that are not kept are encoded now."""
        wanted = dict.fromkeys(texts)
        new = [text for text in wanted if text not in self._kept]
        fresh = dict(zip(new, self.encoder.encode(new, self._keep), strict=True))
        return {text: fresh[text] if text in fresh else self._kept[text] for text in wanted}


def match_pairs(
    pairs: Sequence[tuple[str, str]], texts: Mapping[str, EncodedText], weigh: Callable[[EncodedText], torch.Tensor]
) -> list[tuple[float, float]]:
    """Return (precision, recall) of each (source, statement); all statements of a source share a matrix product.

    Precision is the weighted mean over the statement's tokens of the cosine with the most similar token of the source;
    recall is the same over the source's tokens. texts: encodings by text, with a unit vector for each token. weigh:
    returns a text's token weights, (n_tokens,) fp64, of any sum; a mean is NaN if all are 0. A token of weight 0 does
    not count in the mean, but may be another token's best match.
    """
    import torch

    by_source: dict[str, list[int]] = {}
    for number, (source, _) in enumerate(pairs):
        by_source.setdefault(source, []).append(number)
    sides_by_number: dict[int, tuple[float, float]] = {}
    with one_thread(), torch.inference_mode():
        weights = {text: weigh(item) for text, item in texts.items()}
        for source, numbers in by_source.items():
            judged = [pairs[number][1] for number in numbers]
            states, statements = texts[source].states, [texts[text].states for text in judged]
            lengths = torch.tensor([len(rows) for rows in statements], device=states.device)
            near = torch.cat(statements) @ states.T
            theirs = torch.cat([weights[text] for text in judged]).to(states.device)
            weighted = torch.stack([near.amax(1).double() * theirs, theirs], dim=1)
            sums = torch.segment_reduce(weighted, "sum", lengths=lengths, axis=0)
            best = torch.segment_reduce(near, "max", lengths=lengths, axis=0)
            source_weights = weights[source].to(states.device)
            recall = best.double() @ source_weights / source_weights.sum()
            sides = torch.stack([sums[:, 0] / sums[:, 1], recall], dim=1).tolist()
            sides_by_number |= {number: (both[0], both[1]) for number, both in zip(numbers, sides, strict=True)}
    return [sides_by_number[number] for number in range(len(pairs))]


def first_products(sides: Sequence[tuple[EncodedText, EncodedText]]) -> list[float]:
    """Return for each pair of texts the product of their first vectors, in fp64: the cosine, if they are unit vectors.

    All products are copied from the device together: a GPU waits for its host at every copy.
    """
    import torch

    products = [first.states[0].double() @ second.states[0].double() for first, second in sides]
    cosines: list[float] = torch.stack(products).tolist() if products else []
    return cosines


def align_tokens(encoder: TextEncoder, texts: Mapping[str, EncodedText], source: str, statement: str) -> list[Span]:
    """Return the span of each token of the statement, each followed by that of the most similar token of the source.

    Both have their cosine as weight, and one link; special tokens have no span. texts: a unit vector for each token.
    """
    near = texts[statement].states @ texts[source].states.T
    places = encoder.places(source)
    spans = []
    rows = zip(encoder.places(statement), *(column.tolist() for column in near.max(dim=1)), strict=True)
    for link, ((start, end), cosine, best) in enumerate(rows):
        weight = min(cosine, 1.0)
        if start < end:
            spans.append(Span("statement", start, end, weight, link))
            # The best match may be a special token, which has no place in the text.
            start, end = places[best]
            spans += [Span("source", start, end, weight, link)] if start < end else []
    return spans
