"""Texts that differ in Unicode form alone get the clean texts' scores; powers, indices and fractions stay apart."""

import random
import unicodedata

import pytest

from metaeval.corpus.languages import fold, unfolded
from metrics_zoo.overlap import Overlap
from metrics_zoo.support_mini import SupportMini

WORDS = """The café office flows in 1936 and Zürich's officials affirmed that first efficient dam, of 4.6 million
naïve litres; São Paulo opened waffle shops. Ångström wrote: fjord fluff, 27 resumés.""".split()
LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}


def ligatures(text):
    for letters, one in LIGATURES.items():
        text = text.replace(letters, one)
    return text


def between(sign):
    return lambda text: sign.join(text)


FORMS = {
    **{form: lambda text, form=form: unicodedata.normalize(form, text) for form in ("NFD", "NFC")},
    "ligatures": ligatures,
    "wide": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    **{f"U+{ord(sign):04X}": between(sign) for sign in "\u00ad\u200b\u200c\u200d\u2060\ufeff"},
}


@pytest.mark.parametrize("metric", [Overlap, SupportMini])
def test_forms_of_300_pairs_get_the_clean_pairs_scores(metric):
    chosen = random.Random(7)
    clean = [tuple(" ".join(chosen.choices(WORDS, k=size)) for size in (25, 8)) for _ in range(300)]
    names = chosen.choices([*FORMS], k=600)
    rewritten = [
        (FORMS[one](source), FORMS[other](statement))
        for (source, statement), one, other in zip(clean, names[:300], names[300:], strict=True)
    ]
    scores = []
    for pairs in (clean, rewritten):
        made = metric()
        made.prepare(*pairs_of(pairs))
        scores.append([answer.score for answer in made.score(*pairs_of(pairs))])
    assert scores[0] == scores[1]
    assert len(set(scores[0])) > 20


def pairs_of(pairs):
    return [list(side) for side in zip(*pairs, strict=True)]


@pytest.mark.parametrize("text", ["10²", "x₂", "1½", "10①", "1⒈", "1⑴", "1ª", "™"])
def test_what_means_something_else_stays(text):
    assert fold(text) == text


@pytest.mark.parametrize("metric", [Overlap, SupportMini])
def test_explanations_have_the_places_of_the_text_as_written(metric):
    source, statement = "The \ufeffof\u00adﬁce: Cafe\u0301 ｄａｍ", "Café office, dam"
    made = metric()
    made.prepare([source], [statement])
    found = [span for span in made.explain(source, statement) if span.side == "source"]
    assert {source[span.start : span.end] for span in found} == {"of\u00adﬁce", "Cafe\u0301", "ｄａｍ"}
    assert {span.weight for span in found} == {1.0}
    assert unfolded("a\u00adﬃ")(1, 4) == (2, 3)
