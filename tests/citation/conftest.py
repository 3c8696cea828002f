"""What SCiFi's tests are made of, and the sentence splitters that the official outputs are held against."""

from pathlib import Path

import pytest

from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.corpus.sentences import RULES


@pytest.fixture(scope="session")
def made(load_module):
    """The module scifi_made.py."""
    return load_module(Path(__file__).with_name("scifi_made.py"))


@pytest.fixture(scope="session")
def sheets(recorded):
    """What the tables of a result hold, and those of its rows."""
    return lambda found: {
        name: recorded.sheet(table) for name, table in {**found, **getattr(found, "rows", {})}.items()
    }


@pytest.fixture
def chat_options(tmp_path, own_environment):
    """Make the options of an endpoint: no key, quick back-off, a reply store in the test's folder."""
    from metaeval.citation.chat_models import ChatOptions

    def made(url="http://127.0.0.1:1/v1", **given):
        kept = {"model": "tiny", "replies": tmp_path / "replies.sqlite", "backoff": 0.01, "timeout": 20.0}
        return ChatOptions(base_url=url, **{**kept, **given})

    return made


@pytest.fixture(scope="session")
def letters(tmp_path_factory):
    """The folder of a tokenizer: a token for each letter, and one before and behind, which are not to be counted."""
    transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra 'models'")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}, unk_token="[UNK]")
    )
    splits = tokenizers.pre_tokenizers
    by_letter = splits.Split(tokenizers.Regex("."), behavior="isolated")
    tokenizer.pre_tokenizer = splits.Sequence([splits.WhitespaceSplit(), by_letter])
    ends = [("[CLS]", 1), ("[SEP]", 2)]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    folder = str(tmp_path_factory.mktemp("letters"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(folder)
    return folder


@pytest.fixture(params=["rules", "punkt"])
def splitter(request):
    """The official sentences are punkt's; on these texts the rules cut at the same places."""
    if request.param == "rules":
        return RULES
    request.getfixturevalue("punkt_data")
    return find_sentence_splitter("nltk")
