"""Packed linear layers give the product of the layers they stand for."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")

from metaeval.scoring.backends.linears import pack_linears  # noqa: E402


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(96, 200), torch.nn.GELU())
        self.outer = torch.nn.Linear(200, 31, bias=False)

    def forward(self, states):
        return self.outer(self.inner(states))


@pytest.mark.parametrize("shape", [(1, 96), (7, 96), (3, 50, 96), (1, 1, 96), (64, 5, 96)])
def test_the_output_is_the_same_to_fp32(shape):
    torch.manual_seed(0)
    model, states = Two().eval(), torch.randn(shape)
    with torch.inference_mode():
        before = model(states)
        after = pack_linears(model)(states)
    assert after.shape == before.shape
    assert torch.allclose(after, before, atol=1e-5)


def test_every_linear_layer_is_swapped_at_every_depth():
    packed = pack_linears(Two().eval())
    assert not any(isinstance(module, torch.nn.Linear) for module in packed.modules())


def test_a_torch_without_onednn_keeps_its_own_layers(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    model = pack_linears(Two().eval())
    assert sum(isinstance(module, torch.nn.Linear) for module in model.modules()) == 2


def test_threads_side_by_side_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    torch.manual_seed(1)
    model = pack_linears(Two().eval())
    inputs = [torch.randn(rows, 96) for rows in range(1, 60)]
    with torch.inference_mode():
        alone = [model(states) for states in inputs]

    def run(states):
        with torch.inference_mode():
            return model(states)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, inputs))
    assert all(torch.equal(one, other) for one, other in zip(alone, together, strict=True))
