"""The tiny models of the metrics' tests, for the backends they stand on."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    for module in ("torch", "transformers"):
        pytest.importorskip(module, reason="tiny models need the extra 'models'")
    path = Path(__file__).parents[2] / "metrics_zoo" / "tiny_models.py"
    spec = importlib.util.spec_from_file_location("tiny_models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TinyModels(tmp_path_factory.mktemp("tiny"))
