"""What SCiFi's tests are made of, and the sentence splitters that the official outputs are held against."""

from pathlib import Path

import pytest

from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.corpus.sentences import RULES


@pytest.fixture(scope="session")
def made(load_module):
    """The module scifi_made.py."""
    return load_module(Path(__file__).with_name("scifi_made.py"))


@pytest.fixture(params=["rules", "punkt"])
def splitter(request):
    """The official sentences are punkt's; on these texts the rules cut at the same places."""
    if request.param == "rules":
        return RULES
    request.getfixturevalue("punkt_data")
    return find_sentence_splitter("nltk")
