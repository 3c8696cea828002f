"""Packed linear layers give the product of the layers they stand for."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")

from metaeval.scoring.backends.model_loading import pack_linears  # noqa: E402


def two():
    """A model of two layers, one of them in a part of its own."""

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(96, 200), torch.nn.GELU())
            self.outer = torch.nn.Linear(200, 31, bias=False)

        def forward(self, states):
            return self.outer(self.inner(states))

    return Two().eval()


@pytest.mark.parametrize("shape", [(1, 96), (7, 96), (3, 50, 96), (1, 1, 96), (64, 5, 96)])
def test_the_output_is_the_same_to_fp32(shape):
    torch.manual_seed(0)
    model, states = two(), torch.randn(shape)
    with torch.inference_mode():
        before = model(states)
        after = pack_linears(model)(states)
    assert after.shape == before.shape
    assert torch.allclose(after, before, atol=1e-5)


def test_every_linear_layer_is_swapped_at_every_depth():
    packed = pack_linears(two())
    assert not any(isinstance(module, torch.nn.Linear) for module in packed.modules())


def test_a_torch_without_onednn_keeps_its_own_layers(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    model = pack_linears(two())
    assert sum(isinstance(module, torch.nn.Linear) for module in model.modules()) == 2


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("bert", {}),
        ("roberta", {"hidden_act": "gelu_new"}),
        ("albert", {"hidden_act": "gelu_new", "embedding_size": 16}),
        ("bert", {"hidden_act": "gelu_pytorch_tanh"}),
        ("deberta-v2", {}),
        (
            "bart",
            {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48},
        ),
    ],
)
def test_a_gelu_behind_a_layer_is_computed_with_it(kind, config):
    """The states of transformers' own model; and where the activation is a GELU, its module has nothing left to do."""
    transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")
    torch.manual_seed(2)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    settings = transformers.AutoConfig.for_model(kind, **({} if kind == "bart" else shape), vocab_size=60, **config)
    model = transformers.AutoModel.from_config(settings).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # larger than a fresh model's: GELU must not look linear
    ids = torch.randint(3, 60, (3, 17))
    with torch.inference_mode():
        before = model(input_ids=ids).last_hidden_state
        after = pack_linears(model)(input_ids=ids).last_hidden_state
    assert torch.allclose(after, before, atol=2e-5)
    left = {
        type(module).__name__ for module in model.modules() if type(module).__module__ == "transformers.activations"
    }
    assert left == set()
