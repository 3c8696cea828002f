"""Tiny transformers models of the right architectures, with random weights and a tokenizer trained on the spot."""

import json
import re
from functools import cache
from pathlib import Path

TEXT = """The Kestrel lighthouse was built in 1871 on a basalt ridge north of the harbour. It was automated in 1983 and
is run by a local trust. The trial enrolled 240 adults with mild asthma; no difference in lung function was found after
twelve weeks. Sourdough rises slowly because wild yeast is less active than the yeast that bakers buy. Kettles with a
steel body get hot during use, so hold them by the handle. In São Paulo there is a café with a naïve façade. premise:
hypothesis: The board refused, and it was not built. Is the claim entailed? Yes, no, 0 or 1. predict: Statement, source,
citation. Water boils at 100 degrees at sea level, and at 93 degrees on a mountain of 2,000 metres.""".split("\n")

SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 512,
}


class TinyModels:
    """Folders under `root`, each made once."""

    def __init__(self, root):
        self._root = Path(root)
        self._made = {}

    def folder(self, kind, name="", **config):
        """A transformers folder of a kind (bert, roberta, deberta, deberta-v2, albert, bart, t5); config overrides."""
        key = (kind, name, json.dumps(config, sort_keys=True))
        if key not in self._made:
            path = self._root / f"{kind}-{len(self._made)}{name}"
            _MAKERS[kind](path, config)
            self._made[key] = path
        return self._made[key]


def fill(model, seed=0):
    """Fill a model with random numbers: the same ones on any version of the libraries."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in sorted(model.named_parameters()):
            scale = 0.05 if parameter_name.endswith("bias") else 0.25
            noise = torch.randn(parameter.shape, generator=generator) * scale
            norm = "norm" in parameter_name.lower() and parameter_name.endswith("weight")
            parameter.copy_(1 + 0.1 * noise if norm else noise)


def _save(model, tokenizer, path):
    fill(model)
    model.eval().save_pretrained(path)
    tokenizer.save_pretrained(path)


def _pieces(text):
    """Every letter of a text; and pairs of letters, and two in three of its words, so that words are cut too.

    In every process they are the same, which trained pieces are not.
    """
    words = sorted({*re.findall(r"\w+|[^\w ]", text)} - {*text})
    pairs = sorted({word[at : at + 2] for word in words for at in range(len(word) - 1)})
    del words[::3]
    return sorted({*text} - {" "}), pairs, [word for word in words if len(word) > 2]


def _wordpiece(limit=512):
    from transformers import BertTokenizer

    letters, pairs, words = _pieces(" ".join(TEXT).lower())
    parts = [f"##{part}" for part in (*letters, *pairs)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *parts, *words]
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, model_max_length=limit)


def _bpe(style, limit=512):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import DebertaTokenizer, RobertaTokenizer

    special = (
        ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        if style == "roberta"
        else ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    )
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(TEXT, trainer)
    written = json.loads(raw.to_str())["model"]
    merges = [tuple(merge) for merge in written["merges"]]
    kind = RobertaTokenizer if style == "roberta" else DebertaTokenizer
    return kind(vocab=written["vocab"], merges=merges, model_max_length=limit)


def _unigram(style, limit=512):
    from transformers import AlbertTokenizer, DebertaV2Tokenizer, T5Tokenizer

    special = {
        "t5": ["<pad>", "</s>", "<unk>"],
        "albert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
        "deberta-v2": ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"],
    }[style]
    letters, pairs, words = _pieces(" ".join(TEXT).lower() if style == "albert" else " ".join(TEXT))
    # "word" is a piece of its own: the contract's longest source is made of it, and has 700 tokens so, and not 2,100.
    rarer = ["▁", "▁word", *letters, *pairs, *(f"▁{word}" for word in words)]
    pieces = [*((piece, 0.0) for piece in special), *((piece, -4.0 - n / 256) for n, piece in enumerate(rarer))]
    if style == "t5":
        return T5Tokenizer(vocab=_with_labels(pieces), extra_ids=0, model_max_length=limit)
    kind = AlbertTokenizer if style == "albert" else DebertaV2Tokenizer
    return kind(vocab=pieces, model_max_length=limit)


def _with_labels(pieces):
    """The pieces with '▁' at 3 and '▁1' at 209, where T5's own vocabulary has them."""
    rest = [piece for piece in pieces[3:] if piece[0] not in ("▁", "▁1")]
    ordered = [*pieces[:3], ("▁", -2.0), *rest]
    ordered += [(f"<unused{number}>", -99.0) for number in range(209 - len(ordered))]
    ordered.insert(209, ("▁1", -4.0))
    return ordered


def _classifier(model_class, config_class, tokenizer, extra):
    def make(path, config):
        import transformers

        made = tokenizer()
        settings = {**SHAPE, "vocab_size": len(made), "num_labels": 3, **extra, **config}
        labels = settings.get("id2label")
        if labels:
            settings["id2label"] = {int(number): label for number, label in labels.items()}
            settings["label2id"] = {label: number for number, label in settings["id2label"].items()}
            settings["num_labels"] = len(labels)
        settings["pad_token_id"] = made.pad_token_id
        _save(getattr(transformers, model_class)(getattr(transformers, config_class)(**settings)), made, path)

    return make


def _bart(path, config):
    from transformers import BartConfig, BartForConditionalGeneration

    made = _bpe("roberta", 1024)
    settings = {
        "vocab_size": len(made), "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 1024,
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, **config,
    }  # fmt: skip
    _save(BartForConditionalGeneration(BartConfig(**settings)), made, path)


@cache
def t5_by_distance():
    """Have transformers' T5 work out the bucket of each distance between tokens once, not once for each two tokens.

    In a tiny T5 the table of all pairs is half of the time. The numbers are the same: the bucket depends on the
    distance alone.
    """
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    bucket = T5Attention._relative_position_bucket

    def looked_up(relative_position, *given, **named):
        if relative_position.device.type == "meta":  # where no number can be looked at
            return bucket(relative_position, *given, **named)
        least, most = int(relative_position[-1, 0]), int(relative_position[0, -1])
        distances = torch.arange(least, most + 1, device=relative_position.device)[None]
        return bucket(distances, *given, **named)[0][relative_position - least]

    T5Attention._relative_position_bucket = staticmethod(looked_up)


def _t5(path, config):
    from transformers import T5Config, T5ForConditionalGeneration

    t5_by_distance()
    made = _unigram("t5")
    settings = {
        "vocab_size": len(made), "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2,
        "num_heads": 4, "feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 1,
        "decoder_start_token_id": 0, **config,
    }  # fmt: skip
    _save(T5ForConditionalGeneration(T5Config(**settings)), made, path)


_MAKERS = {
    "bert": _classifier("BertForSequenceClassification", "BertConfig", _wordpiece, {}),
    "roberta": _classifier(
        "RobertaForSequenceClassification",
        "RobertaConfig",
        lambda: _bpe("roberta"),
        {"max_position_embeddings": 514, "type_vocab_size": 1, "bos_token_id": 0, "eos_token_id": 2},
    ),
    "deberta": _classifier(
        "DebertaForSequenceClassification",
        "DebertaConfig",
        lambda: _bpe("deberta"),
        {
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_biased_input": False,
            "type_vocab_size": 0,
        },
    ),
    "deberta-v2": _classifier(
        "DebertaV2ForSequenceClassification",
        "DebertaV2Config",
        lambda: _unigram("deberta-v2"),
        {
            "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False,
            "type_vocab_size": 0, "position_buckets": 16, "norm_rel_ebd": "layer_norm", "share_att_key": True,
        },
    ),
    "albert": _classifier(
        "AlbertForSequenceClassification", "AlbertConfig", lambda: _unigram("albert"), {"embedding_size": 16}
    ),
    "bart": _bart,
    "t5": _t5,
}  # fmt: skip
