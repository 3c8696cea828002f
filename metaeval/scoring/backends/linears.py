"""Faster modules for the same numbers: linear layers through oneDNN on CPUs where torch's own path is slow, GELUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

Model = TypeVar("Model", bound="torch.nn.Module")

# (linear layer, activation behind it) as transformers names them: BERT, RoBERTa, ELECTRA, DeBERTa; ALBERT; BART; T5.
_ACTIVATED = (
    ("dense", "intermediate_act_fn"),
    ("ffn", "activation"),
    ("fc1", "activation_fn"),
    ("wi_0", "act"),
)
# Which form of GELU an activation module of transformers computes, in torch's and oneDNN's words.
_GELU = {
    "GELUActivation": "none",
    "NewGELUActivation": "tanh",
    "GELUTanh": "tanh",
    "PytorchGELUTanh": "tanh",
}


def pack_linears(model: Model) -> Model:
    """Swap every linear layer of an fp32 CPU model in eval mode for one whose weights lie as oneDNN wants them.

    Torch hands fp32 products to MKL, which reaches less than half of an AMD core's speed where oneDNN reaches the
    peak (about even on Intel). A GELU right behind a feed-forward layer is computed with the product, while the rows
    are in the cache. Scores move by some 1e-6. The operators are those that torch.compile's freezing calls; a torch
    without them keeps its own layers. The model is changed in place and returned.
    """
    import torch

    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not (available and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return model

    class PackedLinear(torch.nn.Module):
        def __init__(self, layer: torch.nn.Linear, gelu: str | None) -> None:
            super().__init__()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())
            self.bias = None if layer.bias is None else layer.bias.detach()
            self.then = "none" if gelu is None else "gelu"
            self.form = gelu or ""

        def forward(self, states: torch.Tensor) -> torch.Tensor:
            product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                states, self.weight, self.bias, self.then, [], self.form
            )
            return product

    def swap(module: torch.nn.Module) -> None:
        activated = _gelu_behind(module)
        for name, child in module.named_children():
            if isinstance(child, torch.nn.Linear):
                linear, activation, form = activated or ("", "", "")
                setattr(module, name, PackedLinear(child, form if name == linear else None))
                if name == linear:
                    setattr(module, activation, torch.nn.Identity())
            else:
                swap(child)

    with torch.inference_mode():
        swap(model)
    return model


def plain_gelus(model: Model) -> Model:
    """Swap transformers' GELU modules for torch's own, changed in place and returned; the same function to rounding.

    `gelu_new` (T5, ALBERT) is written there as eight passes over the widest states of the model, up to a third of an
    encoder's time on a CPU; torch's is one.
    """
    import torch

    for module in list(model.modules()):
        for name, child in module.named_children():
            if form := _GELU.get(type(child).__name__):
                setattr(module, name, torch.nn.GELU(approximate=form))
    return model


def _gelu_behind(module: Any) -> tuple[str, str, str] | None:
    """The linear layer of a feed-forward block, the GELU applied to its product, and which form of GELU it is."""
    for linear, activation in _ACTIVATED:
        found = getattr(module, activation, None)
        form = _GELU.get(type(found).__name__) or getattr(found, "approximate", None)
        if form is not None and hasattr(module, linear):
            return linear, activation, form
    return None
