"""BARTScore (Yuan et al., 2021): the likelihood of a statement under a summarising BART that reads the source.

Each text is encoded once, without padding: the texts of a batch are concatenated in one row. Linear layers, layer norms
and activations of transformers' BART work on tokens one by one, and only attention has to know where a text ends; it is
replaced by a function here. The statements of a source are decoded together, so its cross-attention keys and values are
computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from math import exp
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from metaeval.core.errors import UserError
from metaeval.core.parsing import read_object
from metaeval.corpus.sentences import packed
from metaeval.scoring.backends.batches import side_by_side
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.model_loading import FETCH_AGAIN, broken_files, load_model, load_tokenizer, pack_linears
from metaeval.scoring.backends.model_metric import LoadedModelMetric, ModelOptions, of_checkpoint
from metaeval.scoring.backends.tokenization import TextTokens
from metaeval.scoring.contract import MetricCard, PairScore, Status, TwoStepMetric

if TYPE_CHECKING:
    from torch import Tensor


_ATTENTION = "metaeval_packed"
_HEAD_ROWS, _HEAD_COLUMNS = 512, 4096  # a block of logits of 8 MB, which stays in the cache
_LIMIT = 1024
_GENERATORS = frozenset({"BartForConditionalGeneration", "BartModel", "bart"})  # named by config.json


class BARTScoreOptions(ModelOptions):
    """Options of BARTScore."""

    direction: Literal["source-to-statement", "statement-to-source", "mean"] = "source-to-statement"
    """Which text BART reads and which it judges; mean (the paper's F) is the mean of both directions."""
    transform: Literal["none", "exp"] = "none"
    """exp turns the mean log-probability into a number in (0, 1]; ranks stay, Pearson's correlation does not."""
    fallback: bool = False
    """Give a judged text without words the official score, that of its <s> and </s>."""


class Likelihood(NamedTuple):
    """BART's output for a pair. value: mean log-probability in the chosen direction, or the mean of both directions.

    tokens, cut: of both texts. wordless: the statement, or a source whose probability is needed, is blank.
    """

    value: float
    tokens: int
    cut: int
    wordless: bool


class BARTScore(TwoStepMetric, LoadedModelMetric):
    """BARTScore: mean log-probability of the statement's tokens, <s> and </s> included, given the source.

    These two nearly certain tokens pull short statements towards 0, as in the official code. Statements need no
    generation and no prompt: their own tokens are fed to the decoder.
    """

    checkpoint = Checkpoint("facebook/bart-large-cnn", "1.6 GB, MIT", "37f520fa929c961707657b28798b30c003dd100b")
    Options = BARTScoreOptions
    card = MetricCard(
        name="bartscore",
        title="BARTScore",
        family="likelihood",
        summary="mean log-probability of the statement given the source (transform=exp: in (0, 1]), BART-large-CNN",
        paper="Yuan et al. 2021, BARTScore: Evaluating Generated Text as Text Generation (2106.11520)",
        licence="Apache-2.0",
        high=0.0,
        input_limit=_LIMIT,
        truncation="both",
        template="encoder: <s> source </s>; decoder: </s> <s> statement",
        parameters="406 M",
        **of_checkpoint(checkpoint),
    )

    def range_by_options(self) -> Mapping[str, Any]:
        """Return that the exponential lies between 0 and 1."""
        return {"low": 0.0, "high": 1.0} if self.options.transform == "exp" else {}

    @cached_property
    def model(self) -> BartLikelihood:
        """Return the BART model, loaded when first used; raises `UserError` for another architecture."""
        from transformers import BartForConditionalGeneration

        files, options = self.model_folder, self.options
        with broken_files(files):
            config = read_object(files.folder / "config.json", FETCH_AGAIN)
            kinds = config.get("architectures") or [config.get("model_type")]
        # A classifier on BART would load without an error, and its tied head would give meaningless scores.
        if config.get("model_type") != "bart" or not _GENERATORS.intersection(kinds):
            raise UserError(f"{files.folder} holds a {kinds[0]}; allowed: a BART, such as facebook/bart-large-cnn.")
        model = load_model(BartForConditionalGeneration, files, options.dtype, self.device)
        return BartLikelihood(model, load_tokenizer(files), _LIMIT, self.batch_tokens, self.device)

    def observed(self) -> Mapping[str, Any]:
        """Return the identity without the options that only transform the score."""
        identity = self.identity()
        for name in ("transform", "fallback"):
            identity["options"].pop(name)
        return identity

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[Likelihood]:
        """Return each pair's likelihood, also for empty texts, of which BART reads and scores <s> and </s>."""
        direction = self.options.direction
        values = []
        if direction != "statement-to-source":
            values.append(self.model.mean_log_likelihoods(sources, statements))
        if direction != "source-to-statement":
            values.append(self.model.mean_log_likelihoods(statements, sources))
        texts = self.model.read([*sources, *statements])
        seen = []
        for source, statement, *both in zip(sources, statements, *values, strict=True):
            read, judged = texts[source], texts[statement]
            # A statement without words cannot be supported, in either direction.
            wordless = not statement.strip() or (direction != "source-to-statement" and not source.strip())
            mean = sum(both) / len(both)
            seen.append(Likelihood(mean, read.tokens + judged.tokens, read.cut + judged.cut, wordless))
        return seen

    def judge(self, observations: Sequence[Likelihood]) -> list[PairScore]:
        """Return the scores, by the option `transform`; EMPTY for a `wordless` pair, unless `fallback` is on."""
        transform = exp if self.options.transform == "exp" else float
        return [
            PairScore(None, Status.EMPTY, seen.tokens, seen.cut)
            if seen.wordless and not self.options.fallback
            else PairScore(transform(seen.value), tokens=seen.tokens, cut=seen.cut)
            for seen in observations
        ]


class BartText(NamedTuple):
    """A model's input for a text: ids of <s>, its tokens and </s>; how many before any cut, and how many were cut."""

    ids: list[int]
    tokens: int
    cut: int


class _Spans(NamedTuple):
    """The blocks of attention in a row of concatenated texts: (first query, end of queries, first key, end of keys).

    within: of each text to itself. crossing: of the statements to their source.
    """

    within: list[tuple[int, int, int, int]]
    crossing: list[tuple[int, int, int, int]]


class _SourceGroup(NamedTuple):
    """A source's encoded states, (tokens, dimensions), and its statements to score: (number of the pair, token ids)."""

    states: Tensor
    statements: list[tuple[int, list[int]]]


class BartLikelihood:
    """A BART and its tokenizer; a pair's likelihood does not depend on its batch beyond 1e-6.

    model: transformers' `BartForConditionalGeneration`, on `device` (see `settle`); it is changed in place, and cannot
    be used elsewhere. max_tokens: input limit of either side, special tokens included; a longer text is cut at its end.
    batch_tokens: most tokens of a batch.

    Raises `UserError` for a tokenizer that is not the model's, and for a vocabulary head apart from the embeddings.
    """

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int, batch_tokens: int, device: str) -> None:
        from transformers import AttentionInterface

        _check(model.config, tokenizer)
        AttentionInterface.register(_ATTENTION, _attend)
        model.set_attn_implementation(_ATTENTION)
        self.texts = TextTokens(tokenizer)
        self._encoder, self._decoder = model.model.encoder, model.model.decoder
        config = model.config
        self._start, self._end = tokenizer("")["input_ids"]
        self._shifted_in, self._pad = int(config.decoder_start_token_id), int(config.pad_token_id)
        self._head = _VocabularyHead(model)
        self._max_tokens = min(max_tokens, int(config.max_position_embeddings))
        self._batch_tokens = batch_tokens
        self._device = device

    def read(self, texts: Sequence[str]) -> dict[str, BartText]:
        """Return the model's input for each distinct text, by the text; cut at its end beyond the limit."""
        room = self._max_tokens - 2
        return {
            text: BartText([self._start, *ids[:room], self._end], len(ids) + 2, max(len(ids) - room, 0))
            for text, ids in self.texts.ids(texts).items()
        }

    def mean_log_likelihoods(self, sources: Sequence[str], statements: Sequence[str]) -> list[float]:
        """Return for each pair the mean over the statement's tokens, <s> and </s> too, of ln p(token | source, before).

        Computed in fp32. As in BARTScore's loss, the padding token (the text "<pad>") counts in the mean with 0.
        """
        read = self.read([*sources, *statements])
        about: dict[str, list[tuple[int, list[int]]]] = {}
        for number, (source, statement) in enumerate(zip(sources, statements, strict=True)):
            about.setdefault(source, []).append((number, read[statement].ids))
        read_sources = packed([read[source].ids for source in about], len, self._batch_tokens)
        states = chain.from_iterable(side_by_side(read_sources, self._encode, self._device))
        groups = [
            _SourceGroup(of_source, part)
            for of_source, statements_about in zip(states, about.values(), strict=True)
            for part in packed(statements_about, lambda numbered: len(numbered[1]), self._batch_tokens)
        ]
        judged = side_by_side(packed(groups, _statement_tokens, self._batch_tokens), self._decode, self._device)
        mean_by_number = dict(chain.from_iterable(chain.from_iterable(judged)))
        return [mean_by_number[number] for number in range(len(sources))]

    def _encode(self, texts: Sequence[list[int]]) -> list[Tensor]:
        import torch

        lengths = [len(ids) for ids in texts]
        parts = [(first, end, first, end) for first, end in _places(lengths)]
        states = self._embed(self._encoder, texts)
        for layer in self._encoder.layers:
            states = layer(states, None, spans=_Spans(parts, []))
        return list(torch.split(states[0], lengths))

    def _decode(self, batch: Sequence[_SourceGroup]) -> list[list[tuple[int, float]]]:
        import torch

        labels = [ids for group in batch for _, ids in group.statements]
        inputs = [[self._shifted_in, *ids[:-1]] for ids in labels]
        parts = [(first, end, first, end) for first, end in _places([len(ids) for ids in labels])]
        queries = _places([_statement_tokens(group) for group in batch])
        keys = _places([len(group.states) for group in batch])
        spans = _Spans(parts, [(*query, *key) for query, key in zip(queries, keys, strict=True)])
        sources = torch.cat([group.states for group in batch])[None]
        states = self._embed(self._decoder, inputs)
        for layer in self._decoder.layers:
            states = layer(states, None, sources, spans=spans)
        wanted = torch.tensor([token for ids in labels for token in ids], device=self._device)
        likely = self._head(states[0], wanted).masked_fill(wanted == self._pad, 0.0)
        means = iter([float(part.double().mean()) for part in torch.split(likely.cpu(), [len(ids) for ids in labels])])
        return [[(number, next(means)) for number, _ in group.statements] for group in batch]

    def _embed(self, half: Any, texts: Sequence[list[int]]) -> Tensor:
        """Return the input of the first layer of the encoder or decoder, (1, tokens, dimensions)."""
        import torch

        ids = torch.tensor([[token for text in texts for token in text]], device=self._device)
        positions = torch.tensor([place for text in texts for place in range(len(text))], device=self._device)
        states = half.embed_tokens(ids) + half.embed_positions(ids, position_ids=positions)
        normed: Tensor = half.layernorm_embedding(states)
        return normed


class _VocabularyHead:
    """The vocabulary head, computed in blocks of logits that fit into the cache."""

    def __init__(self, model: Any) -> None:
        import torch

        weight, bias = model.model.shared.weight.detach(), model.final_logits_bias[0]
        self._blocks = torch.nn.ModuleList()
        for first in range(0, len(weight), _HEAD_COLUMNS):
            rows = slice(first, first + _HEAD_COLUMNS)
            block = torch.nn.Linear(weight.shape[1], len(weight[rows]), device="meta")
            block.weight = torch.nn.Parameter(weight[rows], requires_grad=False)
            block.bias = torch.nn.Parameter(bias[rows], requires_grad=False)
            self._blocks.append(block)
        if weight.device.type == "cpu" and weight.dtype == torch.float32:
            pack_linears(self._blocks)

    def __call__(self, states: Tensor, labels: Tensor) -> Tensor:
        """Return ln p of each row's label: states (tokens, dimensions), labels (tokens,) -> (tokens,) fp32."""
        import torch

        parts = zip(torch.split(states, _HEAD_ROWS), torch.split(labels, _HEAD_ROWS), strict=True)
        return torch.cat([self._log_p(*part) for part in parts])

    def _log_p(self, states: Tensor, labels: Tensor) -> Tensor:
        import torch

        sums, wanted = [], torch.zeros(len(labels), device=labels.device)
        for number, block in enumerate(self._blocks):
            logits = block(states).float()
            sums.append(logits.logsumexp(1))
            place = labels - number * _HEAD_COLUMNS
            near = place.clamp(0, logits.shape[1] - 1)  # a mask as index would make a GPU wait for its host
            wanted = torch.where(place == near, logits.gather(1, near[:, None])[:, 0], wanted)
        return wanted - torch.stack(sums).logsumexp(0)


def _check(config: Any, tokenizer: Any) -> None:
    """Raise `UserError` unless the tokenizer is the model's and the vocabulary head is tied to the embeddings."""
    if len(tokenizer("")["input_ids"]) != 2 or len(tokenizer) > config.vocab_size:
        raise UserError(f"The tokenizer has {len(tokenizer)} tokens, the model {config.vocab_size}: fetch it again.")
    if not config.tie_word_embeddings:
        raise UserError("This BART's output layer is not tied to its embeddings: choose another model.")


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    *,
    spans: _Spans,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """Return attention within each part of a row of concatenated texts, and None for the attention weights.

    query, key, value: (1, heads, tokens, dimensions of a head); the result is (1, tokens, heads, the same). A
    decoder's self-attention is causal; its cross-attention sees the whole source.
    """
    from torch.nn.functional import scaled_dot_product_attention

    causal = bool(module.is_causal)
    attended = query.new_empty(query.transpose(1, 2).shape)
    for first, end, first_key, end_key in spans.within if causal or not module.is_decoder else spans.crossing:
        keys = slice(first_key, end_key)
        attended[:, first:end] = scaled_dot_product_attention(
            query[:, :, first:end], key[:, :, keys], value[:, :, keys], is_causal=causal, scale=scaling
        ).transpose(1, 2)
    return attended, None


def _places(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return start and end of each text in a row of concatenated texts of these lengths."""
    return list(pairwise(accumulate(lengths, initial=0)))


def _statement_tokens(group: _SourceGroup) -> int:
    return sum(len(ids) for _, ids in group.statements)
