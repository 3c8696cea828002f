"""What SCiFi's tests are made of, and the sentence splitters that the official outputs are held against."""

from pathlib import Path

import pytest

from metaeval.citation.sentences import RULES, find_sentence_splitter

PUNKT = Path(__file__).parents[3] / "shared" / "models" / "nltk_data"


@pytest.fixture(scope="session")
def made(load_module):
    """The module scifi_made.py."""
    return load_module(Path(__file__).with_name("scifi_made.py"))


@pytest.fixture(params=["rules", "punkt"])
def splitter(request, monkeypatch):
    """The official sentences are punkt's; on these texts the rules cut at the same places."""
    if request.param == "rules":
        return RULES
    nltk = pytest.importorskip("nltk", reason="punkt needs the package nltk")
    if not PUNKT.is_dir():
        pytest.skip("NLTK's punkt_tab data (shared/models/nltk_data) are not beside the project")
    monkeypatch.setattr(nltk.data, "path", [str(PUNKT), *nltk.data.path])
    return find_sentence_splitter("nltk")
