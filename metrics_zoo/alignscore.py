"""AlignScore (Zha et al., 2023): a RoBERTa that compares sentences of the statement with chunks of the source.

The network is an encoder with three linear heads, read from the published Lightning checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from metaeval.core.errors import UserError
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.scoring.backends import model_loading
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model, is_cached
from metaeval.scoring.backends.classifier import PairClassifier
from metaeval.scoring.backends.model_metric import LoadedModelMetric, of_checkpoint, probability
from metaeval.scoring.backends.sentence_splitting import best_pieces, find_splitter
from metaeval.scoring.backends.tokenization import PairTokens
from metaeval.scoring.contract import MetricCard, PairScore, Span, Status, ThreeWay, TwoStepMetric
from metrics_zoo.splitting import SplitterOptions

if TYPE_CHECKING:
    import torch

Size = Literal["large", "base"]
SIZES: dict[Size, str] = {"large": "4.9 GB", "base": "1.97 GB"}

HEADS = {"bin": slice(0, 2), "nli": slice(2, 5), "reg": slice(5, 6)}
"""The columns of each head in a row of six logits."""

_LAYERS = {"bin": "bin_layer", "nli": "tri_layer", "reg": "reg_layer"}
# All that transformers may read of a RoBERTa folder, weights aside; a hub copy has the first four.
_BACKBONE = ("config.json", "merges.txt", "tokenizer.json", "vocab.json", "tokenizer_config.json")


_ROBERTA: dict[Size, str] = {
    "large": "722cf37b1afa9454edce342e7895e588b6ff1d59",
    "base": "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
}


def published(size: Size) -> Checkpoint:
    """Return AlignScore's published checkpoint of a size."""
    revision = "8509e78d25bb914939fc585c626500c9b2944249"
    return Checkpoint("yzha/AlignScore", f"{SIZES[size]}, MIT", revision, (f"AlignScore-{size}.ckpt",))


def published_backbone(size: Size) -> Checkpoint:
    """Return RoBERTa's configuration and tokenizer, as a checkpoint on the hub."""
    download = "configuration and tokenizer, 3 MB, MIT"
    return Checkpoint(f"FacebookAI/roberta-{size}", download, _ROBERTA[size], _BACKBONE[:4])


def find_backbone(size: Size, beside: Path | None) -> ModelFolder:
    """Return the files of RoBERTa's configuration and tokenizer; its weights are in AlignScore's file.

    They are looked for in the folder `beside` (that of the checkpoint), if given, and its subfolder roberta-large or
    roberta-base; else on the hub. Raises `UserError` where they are not.
    """
    name = f"roberta-{size}"
    if not beside:
        return find_model(published_backbone(size))
    for place in (beside / name, beside):
        files = tuple(file for file in _BACKBONE if (place / file).is_file())
        if "config.json" in files and ("tokenizer.json" in files or {"vocab.json", "merges.txt"}.issubset(files)):
            return ModelFolder(place, files)
    raise UserError(f"{beside} lacks config.json, vocab.json and merges.txt of {name}: put them into {beside / name}.")


def load_aligner(checkpoint: ModelFolder, backbone: ModelFolder, dtype: model_loading.DType, device: str) -> Any:
    """Load the network, in eval mode: `model(input_ids=..., attention_mask=...).logits` is (pairs, 6), see HEADS.

    The checkpoint's vocabulary head is not read: no score depends on it.

    Raises `UserError` when the files are broken or are not those of an AlignScore model of this size.
    """
    import torch
    from transformers import AutoConfig, RobertaModel

    class Aligner(torch.nn.Module):
        def __init__(self, base_model: Any, heads: torch.nn.Linear) -> None:
            super().__init__()
            self.config = base_model.config
            self.base_model = base_model
            self.heads = heads

        def forward(self, **inputs: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(logits=self.heads(self.base_model(**inputs).pooler_output))

    number = getattr(torch, dtype)
    with model_loading.quiet_transformers(), model_loading.broken_files(checkpoint):
        config = AutoConfig.from_pretrained(backbone.folder, **model_loading.LOCAL)
        state = _read(checkpoint, backbone, config)
        model_loading.check_memory(checkpoint, dtype, device, sum(4 * value.numel() for value in state.values()))
        prefix = "base_model."
        base, report = RobertaModel.from_pretrained(
            None,
            config=config,
            state_dict={name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)},
            dtype=number,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # refused below
        )
        unmet = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
        if unmet:
            named = ", ".join(unmet[:2])
            raise UserError(f"{checkpoint.weights[0]} lacks weights of AlignScore ({named} ...): fetch the file again.")
        heads = torch.nn.Linear(config.hidden_size, 6, dtype=number)
        with torch.no_grad():
            for head, layer in _LAYERS.items():
                heads.weight[HEADS[head]] = state[f"{layer}.weight"].to(number)
                heads.bias[HEADS[head]] = state[f"{layer}.bias"].to(number)
    return model_loading.settle(Aligner(base, heads), dtype, device)


def _read(checkpoint: ModelFolder, backbone: ModelFolder, config: Any) -> dict[str, Any]:
    """Return the checkpoint's weights by name, without its vocabulary head; raises `UserError` for another size."""
    import torch

    # mmap: the optimiser's state, two thirds of the file, is not read. weights_only: no code in the file is run.
    whole = torch.load(checkpoint.weights[0], map_location="cpu", weights_only=True, mmap=True)["state_dict"]
    state = {name: value for name, value in whole.items() if name.startswith(("base_model.", *_LAYERS.values()))}
    state.pop("base_model.embeddings.position_ids", None)  # no weight; older versions of transformers saved it
    shapes = {
        "base_model.embeddings.word_embeddings.weight": (config.vocab_size, config.hidden_size),
        "base_model.embeddings.position_embeddings.weight": (config.max_position_embeddings, config.hidden_size),
        "bin_layer.weight": (2, config.hidden_size),
        "tri_layer.weight": (3, config.hidden_size),
        "reg_layer.weight": (1, config.hidden_size),
    }
    if any(name not in state or tuple(state[name].shape) != shape for name, shape in shapes.items()):
        raise UserError(f"{checkpoint.weights[0]} does not fit the backbone in {backbone.folder}: check 'size'.")
    return state


_CHUNK_WORDS = 350


class AlignScoreOptions(SplitterOptions):
    """Options of AlignScore."""

    mode: Literal["nli_sp", "bin_sp", "reg_sp", "nli", "bin", "reg"] = "nli_sp"
    """Head (nli: P(ALIGNED) of three classes; bin: of two; reg: an unbounded number), and _sp to cut the texts: chunks
    of the source against sentences of the statement, best chunk, mean over sentences."""
    size: Size = "large"
    """Size of RoBERTa."""


class HeadLogits(NamedTuple):
    """The logits of a pair, (chunks x sentences, 6: see HEADS), chunk by chunk; tokens, cut: sums over all inputs."""

    logits: torch.Tensor
    sentences: int
    tokens: int
    cut: int


class AlignScore(LoadedModelMetric, TwoStepMetric):
    """AlignScore: mean over statement sentences of the best chunk's P(ALIGNED); yuh-zha/AlignScore a0936d5.

    Where a sentence alone fills the input, both sides are cut, the longer one first; the official code cuts its whole
    batch so.
    """

    checkpoint = published("large")
    cpu_batch = 1024
    Options = AlignScoreOptions
    card = MetricCard(
        name="alignscore",
        title="AlignScore",
        family="classifier",
        summary="P(ALIGNED) of a RoBERTa trained on 4.7 M pairs of 7 tasks: best source chunk, mean over sentences",
        paper="Zha et al. 2023, AlignScore: Evaluating Factual Consistency with a Unified Alignment Function",
        licence="MIT",
        **probability(),
        # The authors give none; FactCG's official evaluation code uses one half for AlignScore, as for FactCG.
        threshold=0.5,
        threshold_from="FactCG's evaluation code, not the authors' own",
        input_limit=512,
        truncation="source",
        splitter="NLTK punkt_tab, else rules",
        template="<s>source chunk</s></s>statement sentence</s>",
        parameters="355 M",
        three_way=True,
        **of_checkpoint(
            checkpoint,
            download=f"{checkpoint.download} (size=base: {SIZES['base']}), and 3 MB of FacebookAI/roberta-large",
        ),
    )

    def range_by_options(self) -> Mapping[str, Any]:
        """Return that the head reg gives any number."""
        return {"low": None, "high": None} if self.options.mode.startswith("reg") else {}

    @cached_property
    def wanted(self) -> Checkpoint:
        """The checkpoint of the chosen size."""
        return published(self.options.size).at(self.options.model, self.options.revision)

    @cached_property
    def backbone(self) -> ModelFolder:
        """Return RoBERTa's configuration and tokenizer."""
        beside = self.model_folder.folder if self.place else None
        return find_backbone(self.options.size, beside)

    @property
    def lacking_extra(self) -> str:
        """The size and licence of RoBERTa's configuration and tokenizer, if they must be downloaded."""
        if self.place:
            _ = self.backbone
            return ""
        backbone = published_backbone(self.options.size)
        return "" if is_cached(backbone) else f"{backbone.download} ({backbone.hub_id})"

    @cached_property
    def splitter(self) -> SentenceSplitter | None:
        """The sentence splitter; None in the modes without splitting."""
        return find_splitter(self.options.splitter) if self.options.mode.endswith("_sp") else None

    @cached_property
    def model(self) -> PairClassifier:
        """The classifier, loaded when first used."""
        model = load_aligner(self.model_folder, self.backbone, self.options.dtype, self.device)
        tokens = PairTokens(model_loading.load_tokenizer(self.backbone), 512, "source")
        return PairClassifier(model, tokens, self.batch_tokens, self.device)

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the backbone's fingerprint and the splitter's name."""
        splitter = self.splitter.name if self.splitter else "none"
        return {**super().identity(), "backbone": self.backbone.fingerprint, "splitter": splitter}

    def observed(self) -> Mapping[str, Any]:
        """Return the identity without the option `mode`: modes that split texts alike share one run of the model."""
        identity = self.identity()
        options = {name: value for name, value in identity["options"].items() if name != "mode"}
        return {**identity, "options": options}

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[HeadLogits | None]:
        """Return the logits of each chunk with each sentence; None for a blank statement."""
        chunks = {source: self._chunks(source) for source in set(sources)}
        sentences = {statement: self._sentences(statement) for statement in set(statements)}
        grid = [
            [(chunk, sentence) for chunk in chunks[source] for sentence in sentences[statement]]
            for source, statement in zip(sources, statements, strict=True)
        ]
        flat = [cell for cells in grid for cell in cells]
        table = self.model.table([chunk for chunk, _ in flat], [sentence for _, sentence in flat])
        seen: list[HeadLogits | None] = []
        end = 0
        for statement, cells in zip(statements, grid, strict=True):
            start, end = end, end + len(cells)
            tokens, cut = sum(table.tokens[start:end]), sum(table.cut[start:end])
            seen.append(HeadLogits(table.values[start:end], len(sentences[statement]), tokens, cut) if cells else None)
        return seen

    def judge(self, observations: Sequence[HeadLogits | None]) -> list[PairScore]:
        """Return each pair's mean over sentences of the best chunk; EMPTY for None (there the official code stops)."""
        read_pairs = [seen for seen in observations if seen is not None]
        scores = iter(_scores(read_pairs, self.options.mode.removesuffix("_sp")))
        return [
            PairScore(None, Status.EMPTY) if seen is None else PairScore(next(scores), tokens=seen.tokens, cut=seen.cut)
            for seen in observations
        ]

    def entail(self, sources: Sequence[str], statements: Sequence[str]) -> list[ThreeWay | None]:
        """Return each pair's three-class distribution, averaged over sentences, each at its best chunk; in every mode.

        The best chunk has the largest P(ALIGNED). `entailment` is the log of the nli score. None for a blank statement.
        """
        averages: list[ThreeWay | None] = []
        for seen in self.observe(sources, statements):
            if seen is None:
                averages.append(None)
                continue
            log_p = seen.logits.double()[:, HEADS["nli"]].log_softmax(-1).view(-1, seen.sentences, 3)
            spoken = log_p[log_p[..., 0].argmax(0), range(seen.sentences)]
            averages.append(ThreeWay(*spoken.exp().mean(0).log().tolist()))
        return averages

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return each sentence of the statement with its best chunk of the source, by the head that `mode` names."""
        (seen,) = self.observe([source], [statement])
        if seen is None:
            return []
        values = _aligned(seen.logits, self.options.mode.removesuffix("_sp")).view(-1, seen.sentences).numpy()
        return best_pieces(source, statement, self._chunks(source), self._sentences(statement), values)

    def _chunks(self, source: str) -> list[str]:
        if self.splitter is None:
            return [source]
        sentences = self.splitter.split(source) or [""]
        size = max(len(sentences) // (len(source.split()) // _CHUNK_WORDS + 1), 1)
        return [" ".join(sentences[start : start + size]) for start in range(0, len(sentences), size)]

    def _sentences(self, statement: str) -> Sequence[str]:
        if not statement.strip():
            return []
        return [statement] if self.splitter is None else self.splitter.split(statement)


def _scores(read_pairs: Sequence[HeadLogits], head: str) -> Iterator[float]:
    """Yield each pair's mean over sentences of the best chunk's value by `head` (a key of `HEADS`)."""
    import torch

    aligned = _aligned(torch.cat([seen.logits for seen in read_pairs] or [torch.empty(0, 6)]), head).tolist()
    end = 0
    for seen in read_pairs:
        start, end = end, end + len(seen.logits)
        best = [max(aligned[place : end : seen.sentences]) for place in range(start, start + seen.sentences)]
        yield sum(best) / len(best)


def _aligned(logits: torch.Tensor, head: str) -> torch.Tensor:
    """Return, from logits (m, 6), P(ALIGNED) by the head nli or bin, or the value of the head reg; (m,)."""
    outputs = logits.double()[:, HEADS[head]]
    return (outputs if head == "reg" else outputs.softmax(-1))[:, 1 if head == "bin" else 0]
