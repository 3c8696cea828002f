"""Tokens of Table 1 and of the context, by a tokenizer of one's choice: here one token for each letter."""

import pytest

from metaeval import cite
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.scifi.text_statistics import citation_counts


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra 'models'")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    splits = tokenizers.pre_tokenizers
    by_letter = splits.Split(tokenizers.Regex("."), behavior="isolated")
    made.pre_tokenizer = splits.Sequence([splits.WhitespaceSplit(), by_letter])
    folder = str(tmp_path_factory.mktemp("letters"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]").save_pretrained(folder)
    return folder


def test_statistics_count_the_tokens_of_a_tokenizer(letters):
    answer = Answer("a", "He swam [1] in May [2]. It rained.", (Passage("x"),))
    # "He swam in May." has 2 + 4 + 2 + 3 + 1 letters and marks, "It rained." 2 + 6 + 1; of words and marks 5 + 3.
    assert citation_counts([answer]).tokens == 8
    assert citation_counts([answer], tokenizer=letters).tokens == 12 + 9


def test_table_1_says_which_tokenizer_counted(letters):
    answers = [{"id": "a", "question": "Who?", "text": "A Dane built it [1].", "passages": [{"text": "A Dane."}]}]
    tables = [cite.tables_scifi(answers, table=1, tokenizer=unit).tables["table-1"] for unit in ("words", letters)]
    values = [{r["measure"]: r["value"] for r in table.records}["tokens"] for table in tables]
    assert values == [5, 13]  # A, Dane, built, it and the stop; 1 + 4 + 5 + 2 letters and the stop
    notes = [" ".join(note.text for note in table.footer) for table in tables]
    assert "Tokens: words and punctuation marks" in notes[0]
    assert f"those of the tokenizer {letters}" in notes[1]
    assert ("tokenizer:" in tables[0].signatures[0], "tokenizer:" in tables[1].signatures[0]) == (False, True)
