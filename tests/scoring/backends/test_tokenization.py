"""Joined ids are those of transformers' own pair encoding, truncation included."""

import random

import pytest

pytest.importorskip("transformers", reason="needs the extra 'models'")


from metaeval.core.errors import UserError
from metaeval.scoring.backends import tokenization as tokens_module
from metaeval.scoring.backends.tokenization import PairTokens, TextTokens

KINDS = ("bert", "roberta", "deberta", "deberta-v2", "albert")
WORDS = """The Kestrel lighthouse was built in 1871 on a basalt ridge. café São naïve 東京 Москва 🙂 e\u0301 [1] (a)
U.S. 3.5 % don't "it" — … ' , ;""".split()


def texts(count, seed):
    """Texts of 0 to 40 odd words and odd white space, without white space at either end."""
    rng = random.Random(seed)
    return [
        "".join(rng.choice(WORDS) + rng.choice((" ", "  ", "\n")) for _ in range(rng.randrange(40))).strip()
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def tokenizers(tiny):
    from transformers import AutoTokenizer

    return lambda kind: AutoTokenizer.from_pretrained(tiny.folder(kind))


def expected(kind, whole):
    """transformers' ids and segments; RoBERTa's tokenizer says segments of zeros, the others 0 and 1."""
    return list(zip(whole["input_ids"], whole["token_type_ids"], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_equal_the_tokenizers_own(kind, tokenizers):
    firsts, seconds = texts(150, 1), texts(150, 2)
    own = tokenizers(kind)(firsts, seconds, return_token_type_ids=True)
    pairs = PairTokens(tokenizers(kind), 10_000, "source").encode(firsts, seconds)
    assert [(pair.ids, pair.segments) for pair in pairs] == expected(kind, own)
    assert all((pair.tokens, pair.cut) == (len(pair.ids), 0) for pair in pairs)


@pytest.mark.parametrize("limit", [9, 16, 17, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_longest_first_is_the_tokenizers_own(kind, limit, tokenizers):
    firsts, seconds = texts(40, 3), texts(40, 4)
    tokenizer = tokenizers(kind)
    own = tokenizer(firsts, seconds, truncation="longest_first", max_length=limit, return_token_type_ids=True)
    whole = tokenizer(firsts, seconds)["input_ids"]
    pairs = PairTokens(tokenizers(kind), limit, "longest").encode(firsts, seconds)
    assert [(pair.ids, pair.segments) for pair in pairs] == expected(kind, own)
    assert [(pair.tokens, pair.cut) for pair in pairs] == [(len(ids), max(len(ids) - limit, 0)) for ids in whole]


@pytest.mark.parametrize("kind", KINDS)
def test_source_first_is_the_tokenizers_only_first_with_the_official_retry(kind, tokenizers):
    """AlignScore: `only_first`, which raises where the second text alone is too long; then `longest_first`."""
    firsts, seconds = texts(120, 5), texts(120, 6)
    tokenizer = tokenizers(kind)
    limit = sorted(len(ids) for ids in tokenizer(seconds)["input_ids"])[80]  # a third of the statements is too long
    retried, wanted = 0, []
    for first, second in zip(firsts, seconds, strict=True):
        try:
            whole = tokenizer([first], [second], truncation="only_first", max_length=limit)
        except Exception:  # noqa: BLE001 (tokenizers raises no narrower one; the official code catches all, too)
            whole = tokenizer([first], [second], truncation="longest_first", max_length=limit)
            retried += 1
        wanted.append(whole["input_ids"][0])
    assert 20 < retried < 60
    pairs = PairTokens(tokenizers(kind), limit, "source").encode(firsts, seconds)
    assert [pair.ids for pair in pairs] == wanted


def test_the_memory_of_texts_is_bounded(tokenizers, monkeypatch):
    monkeypatch.setattr(tokens_module, "_KEPT_TEXTS", 4)
    found = TextTokens(tokenizers("bert"))
    first = found.ids(["a", "b", "c"])
    assert [found.ids(["c", *more]).keys() for more in ("d", "de")] == [{*"cd"}, {*"cde"}]
    assert found.ids(["c"])["c"] == first["c"]
    assert found.calls == 7  # four are kept; emptied for a fifth: c and d were tokenised again, and c once only


def test_a_tokenizer_that_does_more_than_join_is_refused(tokenizers):
    class Strange:
        backend_tokenizer = tokenizers("bert").backend_tokenizer

        def __call__(self, firsts, seconds, **_):
            ids = [7, 8, 9]
            return {"input_ids": [ids], "token_type_ids": [[0] * 3]}

    with pytest.raises(UserError, match="does not join the two texts"):
        PairTokens(Strange(), 512, "source")


def test_a_slow_tokenizer_is_refused():
    with pytest.raises(UserError, match="is not a fast one"):
        PairTokens(object(), 512, "source")


def test_texts_of_the_same_unknown_words_are_told_from_one_another():
    """A vocabulary without a single word: both texts are the same tokens, and the second has its own place."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Sequence, Split
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    special = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
    backend = Tokenizer(WordLevel(special, unk_token="[UNK]"))
    backend.pre_tokenizer = Sequence([Split("nothing splits this", "removed")])
    pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    backend.post_processor = TemplateProcessing("[CLS] $A [SEP]", pair, [("[CLS]", 1), ("[SEP]", 2)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
    (encoded,) = PairTokens(tokenizer, 512, "source").encode(["Rain fell."], ["It rained."])
    assert (encoded.ids, encoded.segments) == ([1, 0, 2, 0, 2], [0, 0, 0, 1, 1])
