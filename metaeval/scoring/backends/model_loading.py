"""Load models into memory: choose device and number type, check that no weight is missing, report errors.

Modules are replaced by faster ones with the same numbers: linear layers through oneDNN on CPUs, GELUs in one pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import ModelFolder

if TYPE_CHECKING:
    import torch


Model = TypeVar("Model", bound="torch.nn.Module")

# (linear layer, activation after it) as transformers names them: BERT, RoBERTa, ELECTRA, DeBERTa; ALBERT; BART; T5.
_ACTIVATED = (("dense", "intermediate_act_fn"), ("ffn", "activation"), ("fc1", "activation_fn"), ("wi_0", "act"))
# The form of GELU that an activation module of transformers computes, as torch and oneDNN name it.
_GELU = {"GELUActivation": "none", "NewGELUActivation": "tanh", "GELUTanh": "tanh", "PytorchGELUTanh": "tanh"}


def pack_linears(model: Model) -> Model:
    """Return an fp32 CPU model in eval mode with every linear layer replaced by one with weights in oneDNN's layout.

    Torch computes fp32 products with MKL, which reaches less than half of an AMD core's speed where oneDNN reaches
    the peak (about even on Intel). A GELU right after a feed-forward layer is computed with the product, while the
    rows are in the cache. Scores move by some 1e-6. The operators are those that torch.compile's freezing calls; a
    torch without them keeps its own layers. The model is changed in place.
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
    """Return the model with torch's GELU modules in place of transformers', which compute the same up to rounding.

    The model is changed in place. `gelu_new` (T5, ALBERT) makes eight passes over the widest states of the model,
    up to a third of an encoder's time on a CPU; torch's makes one.
    """
    import torch

    for module in list(model.modules()):
        for name, child in module.named_children():
            if form := _GELU.get(type(child).__name__):
                setattr(module, name, torch.nn.GELU(approximate=form))
    return model


def _gelu_behind(module: Any) -> tuple[str, str, str] | None:
    """Return the names of a module's linear layer and of the GELU after it, and its form ("none", "tanh"); or None."""
    for linear, activation in _ACTIVATED:
        module_behind = getattr(module, activation, None)
        form = _GELU.get(type(module_behind).__name__) or getattr(module_behind, "approximate", None)
        if form is not None and hasattr(module, linear):
            return linear, activation, form
    return None


DType = Literal["float32", "bfloat16", "float16"]
POOLER = ("pooler.dense.weight", "pooler.dense.bias", "pooler.weight", "pooler.bias")
"""Weights of an encoder that no hidden state depends on."""
_OFFSET = {"camembert", "roberta", "xlm-roberta", "mpnet"}  # the first position follows the padding's id

LOCAL: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Arguments for reading a model's folder: nothing is downloaded, and Python code in it is not run.

Without `trust_remote_code`, transformers asks on the terminal whether to run that code.
"""


def load_model(
    kind: Any,
    files: ModelFolder,
    dtype: DType,
    device: str,
    unused: tuple[str, ...] = (),
    change: Callable[[Any], Any] | None = None,
    plain: bool = False,
    **arguments: Any,
) -> Any:
    """Load a transformers model in eval mode on `device`, with its CPU fp32 linear layers packed.

    kind: the class (or Auto class) to load. unused: endings of names of weights that the checkpoint may lack, because
    no score depends on them. change: replaces modules before layers are packed. plain: no module is replaced.
    arguments: more of `from_pretrained`.

    Raises `UserError` when the files are broken, lack weights that the score depends on, or do not fit into memory.
    """
    import torch

    check_memory(files, dtype, device)
    with quiet_transformers(), broken_files(files):
        model, report = kind.from_pretrained(
            files.folder, dtype=getattr(torch, dtype), output_loading_info=True, **{**LOCAL, **arguments}
        )
    lacking = sorted(name for name in report["missing_keys"] if not name.endswith(unused))
    if lacking or report["mismatched_keys"]:
        named = ", ".join([*lacking, *map(str, report["mismatched_keys"])][:3])
        raise UserError(f"{files.folder} lacks weights, or has them in another shape ({named} ...): check 'model'.")
    return model.eval().to(device) if plain else settle(change(model) if change else model, dtype, device)


def settle(model: Any, dtype: DType, device: str) -> Any:
    """Return a model in eval mode and on its device, with faster GELUs and, on a CPU in fp32, packed linear layers."""
    model = plain_gelus(model.eval().requires_grad_(False).to(device))
    return pack_linears(model) if device == "cpu" and dtype == "float32" else model


def position_limit(config: Any) -> int:
    """Return the most tokens of an input that a model's positions allow, special ones included; 0: no such limit."""
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    reserved = int(config.pad_token_id or 0) + 1 if config.model_type in _OFFSET else 0
    return max(positions - reserved, 0)


def load_tokenizer(files: ModelFolder, **arguments: Any) -> Any:
    """Load the tokenizer in a model's folder, a fast one where there is one; raises `UserError` if it is broken."""
    from transformers import AutoTokenizer

    with quiet_transformers(), broken_files(files):
        return AutoTokenizer.from_pretrained(files.folder, **{**LOCAL, **arguments})


FETCH_AGAIN = "name a model of the kind that the metric reads, or fetch its files again where they are broken"
"""Advice at the end of an error that names a model's folder."""


@contextmanager
def broken_files(files: ModelFolder) -> Iterator[None]:
    """Turn any exception in the with-block, which reads a model's files, into a `UserError`."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = shorten(str(error), 200, placeholder=" ...")
        kind = type(error).__name__
        raise UserError(f"The model in {files.folder} cannot be loaded ({kind}: {reason}): {FETCH_AGAIN}.") from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers; this module checks the loaded weights itself."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def check_memory(files: ModelFolder, dtype: DType, device: str, size: int = 0) -> None:
    """Raise `UserError` for a model that cannot fit into a device's free memory, before the system kills the process.

    size: bytes of the weights in fp32, if the files hold more than these (0: the size of the files of weights).
    """
    free = free_memory(device)
    # The number type in a file is not known before it is read: its size is a lower bound.
    need = (size or files.size) // (1 if dtype == "float32" else 2)
    if free is not None and need > free:
        other = "the metric's option dtype=bfloat16 (half as much; scores change), " if dtype == "float32" else ""
        raise UserError(
            f"The model in {files.folder} needs about {need / 1e9:.1f} GB and {free / 1e9:.1f} GB are free on "
            f"{device!r}: try {other}another device, or a larger machine."
        )


def free_memory(device: str) -> int | None:
    """Return the free bytes of a device; None where the system does not report them."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return None


def pick_device(wish: str) -> str:
    """Return torch's name of the device `wish`; "auto" is the first CUDA device where there is one, else the CPU.

    Raises `UserError` for a device that torch does not know or does not have.
    """
    import torch

    if wish == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=wish)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"The device {wish!r} is not available here; allowed: auto, cpu, cuda, cuda:0 ...") from error
    return wish


def devices_of(names: Sequence[str]) -> list[str]:
    """Return the numbers of the named CUDA devices ("auto": of all); `UserError` for one that torch does not see."""
    if not names:
        return []
    count = 0
    if find_spec("torch"):
        import torch

        count = torch.cuda.device_count()
    if names == ("auto",) and count:
        return [str(number) for number in range(count)]
    for name in names:
        if name == "auto" or int(name) >= count:
            allowed = f"0 to {count - 1}, or auto" if count else "none, since torch finds no CUDA device here"
            raise UserError(f"executor.devices names {name!r}; allowed: {allowed} (CPU: executor.workers).")
    return list(names)
