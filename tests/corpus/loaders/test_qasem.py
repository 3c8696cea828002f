import pytest

from metaeval.corpus.loaders.qasem import DATASET, detokenise


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("Rain fell , and then ( late ) stopped .", "Rain fell, and then (late) stopped."),
        ("It 's 20 % off ; do n't wait !", "It's 20% off; don't wait!"),
        ("I ’ve seen what we ’ll do , they ’re here", "I’ve seen what we’ll do, they’re here"),
        ('He said " no " and " yes " .', 'He said "no" and "yes".'),
        ("“ This Old Man ” is a song", "“This Old Man” is a song"),
        ("the students ' vote , called ' fair ' .", "the students' vote, called 'fair'."),
        ("a co - operation and / or 5 / 6", "a co-operation and/or 5/6"),
        ("\n - a bullet \n - another", "- a bullet\n- another"),
        ("see [ 1 ] [ 2 ] .", "see [1] [2]."),
        ("yes / no /", "yes/no /"),
        ("and - ( not -", "and - (not -"),
        ("it cost $ 5 or £ 4 ... then", "it cost $5 or £4... then"),
        ("born 1936 – died 2013", "born 1936 – died 2013"),
        ('" open at the end \n " a new line "', '"open at the end\n"a new line"'),
        ("", ""),
        ("\n \n", ""),
    ],
)
def test_tokens_become_running_text(tokens, text):
    assert detokenise(tokens.split(" ")) == text


def test_white_space_tokens_are_no_words():
    assert detokenise(["a", " ", "\xa0", "b", "\n\n", "c"]) == "a b\nc"


def test_real_counts(real):
    # The list of development data, row qasem_consistency: 299 rows, 189 of GenSearch, 105 full / 68 partial / 16 none.
    corpus = real(DATASET)
    assert corpus.level_counts() == {"full": 105, "partial": 68, "none": 16}
    assert sum(corpus.dropped.values()) == 299 - 189
    assert len(real(DATASET, source="all").citations) == 299
    assert len(real(DATASET, "dev").citations) + len(real(DATASET, "test").citations) == 189
    assert {s.system for s in real(DATASET).statements.values()} == {"bing_chat", "neeva", "perplexity"}
