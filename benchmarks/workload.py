"""What the benchmarks run on: real text cut as the main job cuts it, and models of real shapes with random weights.

Speed does not depend on the values of weights; scores of a random model mean nothing, and are compared only with the
scores that another way gives on the same model.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import metaeval
from metaeval.core.files import cache_folder

Texts = tuple[str, str]

SHAPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: (class, tokenizer, configuration), as the config.json of the checkpoints named in the metrics' cards
    "bert-base": ("BertForSequenceClassification", "wordpiece", {"vocab_size": 30522, "num_labels": 2}),
    "roberta-large": (
        "RobertaForSequenceClassification",
        "roberta",
        {
            "vocab_size": 50265,
            "hidden_size": 1024,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "intermediate_size": 4096,
            "max_position_embeddings": 514,
            "type_vocab_size": 1,
            "layer_norm_eps": 1e-5,
        },
    ),
    "albert-xlarge": (
        "AlbertForSequenceClassification",
        "albert",
        {
            "vocab_size": 30000,
            "embedding_size": 128,
            "hidden_size": 2048,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "intermediate_size": 8192,
            "hidden_act": "gelu_new",
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "num_labels": 3,
        },
    ),
    "deberta-xlarge": (
        "DebertaModel",
        "deberta",
        {
            "vocab_size": 50265,
            "hidden_size": 1024,
            "num_hidden_layers": 48,
            "num_attention_heads": 16,
            "intermediate_size": 4096,
            "type_vocab_size": 0,
            "relative_attention": True,
            "max_relative_positions": -1,
            "position_biased_input": False,
            "pos_att_type": ["c2p", "p2c"],
            "layer_norm_eps": 1e-7,
        },
    ),
    "bart-large": (
        "BartForConditionalGeneration",
        "roberta",
        {
            "vocab_size": 50265,
            "d_model": 1024,
            "encoder_layers": 12,
            "decoder_layers": 12,
            "encoder_attention_heads": 16,
            "decoder_attention_heads": 16,
            "encoder_ffn_dim": 4096,
            "decoder_ffn_dim": 4096,
            "max_position_embeddings": 1024,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 2,
            "decoder_start_token_id": 2,
        },
    ),
    "t5-large": (
        "T5ForConditionalGeneration",
        "t5",
        {
            "vocab_size": 32128,
            "d_model": 1024,
            "d_kv": 64,
            "d_ff": 2816,
            "num_layers": 24,
            "num_decoder_layers": 24,
            "num_heads": 16,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
        },
    ),
    "minilm-l6": (
        "BertForSequenceClassification",
        "wordpiece",
        {
            "vocab_size": 30522,
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "intermediate_size": 1536,
            "num_labels": 3,
        },
    ),
}


def workload(pairs: int, per_source: float | None = None, seed: int = 0) -> list[Texts]:
    """(source, statement) pairs of the mini corpus, chunks of at most 150 words, drawn with a seed.

    per_source: statements a source is paired with; None keeps the job's own proportion.
    """
    found = [(pair.source, pair.statement) for pair in metaeval.pairs(dataset="mini", pool="bm25:20")]
    rng = random.Random(seed)
    if per_source is None:
        return rng.sample(found, min(pairs, len(found)))
    statements = sorted({statement for _, statement in found})
    sources = sorted({source for source, _ in found})
    rng.shuffle(sources)
    drawn: list[Texts] = []
    while len(drawn) < pairs:
        count = int(per_source) + (rng.random() < per_source % 1)
        source = sources.pop()
        drawn += [(source, statement) for statement in rng.sample(statements, count)]
    return drawn[:pairs]


def model_folder(name: str, **config: Any) -> Path:
    """A transformers folder of a real shape with random weights, made once in the cache; `config` overrides."""
    import torch
    import transformers

    kind, tokenizer, shape = SHAPES[name]
    settings = {**shape, **config}
    path = cache_folder() / "benchmarks" / "-".join([name, *(f"{key}{value}" for key, value in config.items())])
    if not (path / "model.safetensors").exists():
        torch.manual_seed(0)
        model = getattr(transformers, kind)(transformers.AutoConfig.for_model(_family(kind), **settings))
        save_tokenizer(tokenizer, path)
        model.save_pretrained(path)
    return path


def _family(kind: str) -> str:
    return {"Bert": "bert", "Robe": "roberta", "Albe": "albert", "Debe": "deberta", "Bart": "bart", "T5Fo": "t5"}[
        kind[:4]
    ]


def save_tokenizer(style: str, path: Path) -> None:
    """Write a tokenizer of the named style, trained on the mini corpus: about 1.3 tokens a word, as the real ones."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import AlbertTokenizer, BertTokenizer, DebertaTokenizer, RobertaTokenizer, T5Tokenizer

    corpus = metaeval.load_corpus(dataset="mini")
    texts = [document.text for document in corpus.documents.values()]
    if style == "wordpiece":
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        raw.normalizer, raw.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        raw.train_from_iterator(
            texts, trainers.WordPieceTrainer(vocab_size=4000, special_tokens=special, show_progress=False)
        )
        made: Any = BertTokenizer(vocab=raw.get_vocab(), model_max_length=512)
    elif style in ("roberta", "deberta"):
        special = (
            ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
            if style == "roberta"
            else ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
        )
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        raw.train_from_iterator(
            texts,
            trainers.BpeTrainer(
                vocab_size=5000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
            ),
        )
        written = json.loads(raw.to_str())["model"]
        kind = RobertaTokenizer if style == "roberta" else DebertaTokenizer
        made = kind(vocab=written["vocab"], merges=[tuple(merge) for merge in written["merges"]], model_max_length=512)
    else:
        special = ["<pad>", "</s>", "<unk>"] if style == "t5" else ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
        raw = Tokenizer(models.Unigram())
        raw.pre_tokenizer = pre_tokenizers.Metaspace()
        given = [text.lower() for text in texts] if style == "albert" else texts
        raw.train_from_iterator(
            given,
            trainers.UnigramTrainer(vocab_size=4000, special_tokens=special, unk_token="<unk>", show_progress=False),
        )
        pieces = [tuple(piece) for piece in json.loads(raw.to_str())["model"]["vocab"]]
        made = (
            AlbertTokenizer(vocab=pieces) if style == "albert" else T5Tokenizer(vocab=_with_labels(pieces), extra_ids=0)
        )
    made.save_pretrained(path)


def _with_labels(pieces: list[Any]) -> list[Any]:
    """The pieces with '▁' at 3 and '▁1' at 209, as in T5's own vocabulary."""
    ordered = [*pieces[:3], ("▁", -2.0), *[piece for piece in pieces[3:] if piece[0] not in ("▁", "▁1")]]
    ordered.insert(209, ("▁1", -4.0))
    return ordered
