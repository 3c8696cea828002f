"""The language of texts, and their words by Unicode."""

import json
import logging
import re
import sys
import unicodedata
from pathlib import Path

import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus import languages
from metaeval.corpus.languages import (
    ends_in_word,
    fold,
    has_marks,
    language_of,
    language_of_pairs,
    plain_word,
    stemmer,
    unfolded,
    word_pattern,
    words_of,
)
from metaeval.corpus.sentences import language_note
from metaeval.report.cautions import cautions

WORDS = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
TEXTS = {
    # The first sentences of the Universal Declaration of Human Rights, article 1, in the official translations.
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand.",
    "ja": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "ar": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.",
}
# Of Snowball's own lists of words and stems.
STEMS = {"fr": "continuel", "es": "torn", "ru": "важн", "it": "abbandon", "sv": "klok"}
ENGLISH = "All human beings are born free and equal in dignity and rights."


@pytest.fixture(autouse=True)
def anew():
    yield
    for cached in (language_of, languages._warn, stemmer):
        cached.cache_clear()


@pytest.mark.parametrize("language", [name for name in TEXTS if name not in ("nl", "ja", "ar")])
def test_a_job_of_one_language_is_recognised(language):
    pytest.importorskip("py3langid", reason="needs the extra 'languages'")
    assert language_of((TEXTS[language],) * 10) == language


def test_several_languages_are_other():
    pytest.importorskip("py3langid", reason="needs the extra 'languages'")
    assert language_of((TEXTS["de"], TEXTS["fr"], TEXTS["es"]) * 5) == "other"
    assert language_of((TEXTS["de"][:98],) * 4 + (TEXTS["fr"],)) == "de"  # 80 %


@pytest.mark.parametrize(
    "texts", [(), ("42 %",), (ENGLISH,), (ENGLISH, TEXTS["fr"]) * 5, ("Le Havre, La Paz, Das Boot",)]
)
def test_few_words_of_another_language_leave_texts_english(texts):
    assert language_of(texts) == "en"


@pytest.mark.parametrize(
    ("text", "language"), [(TEXTS["hi"], "hi"), (TEXTS["ru"], "ru"), ("人間ノ自由は", "ja"), (TEXTS["de"], "en")]
)
def test_without_the_extra_the_script_decides_and_a_warning_says_so(monkeypatch, caplog, text, language):
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    with caplog.at_level(logging.WARNING, "metaeval"):
        assert language_of((text,) * 10) == language
        assert language_of((text,) * 11) == language
    assert [record.message.count(f"({language})") for record in caplog.records] == [1]


def test_words_and_their_forms(recorded):
    texts, found = WORDS["texts"], {}
    for language in ("", "en", "ja", "hi"):
        found[f"words {language}"] = [words_of(text, language) for text in texts]
    found["pattern"] = [word_pattern().findall(text) for text in texts]
    found["plain"] = [plain_word(text) for text in texts]
    found["folded"] = [fold(text) for text in texts]
    found["places"] = [
        [unfolded(text)(start, start + 1) for start in range(len(fold(text)))] for text in texts if len(fold(text)) < 6
    ]
    found["whole"] = [unfolded(text)(0, len(fold(text))) for text in texts if text]
    found["marks"] = [[has_marks(text), ends_in_word(text)] for text in (*texts, *WORDS["pieces"])]
    # At the bounds: so many foreign words, as many English ones, half of the letters.
    notes = [
        *(
            ["der"] * 19,
            ["der"] * 20,
            ["der"] * 20 + ["the"] * 19,
            ["der"] * 20 + ["the"] * 20,
            ["xx"] * 500 + ["der " * 40],
        ),
        *(["xx"] * 499 + ["der " * 40], ["ab жж"], ["ab жжж"], ["a1_б"], ["DER " * 20], ["Der-und " * 10]),
    ]
    found["notes"] = [bool(language_note(note)) for note in notes]
    found["pairs"] = [
        language_of_pairs(["zz"] * foreign + ["a"] * plain, [TEXTS["ru"]] * foreign)
        for foreign, plain in ((9, 1), (0, 1))
    ]
    recorded.held("corpus-words", found)


def test_marks_are_those_of_unicode():
    one = re.compile(f"[{languages.marks()}]")
    every = map(chr, range(sys.maxunicode + 1))
    assert all((one.match(char) is not None) == (unicodedata.category(char) in ("Mn", "Mc")) for char in every)


def test_stems_are_those_of_snowball_or_the_error_names_what_is_missing(monkeypatch):
    with pytest.raises(UserError, match=re.escape("There is no stemmer for the language th: leave stem out")):
        stemmer("th")
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="need the package snowballstemmer"):
        stemmer("de")
    monkeypatch.undo()
    pytest.importorskip("snowballstemmer", reason="needs the extra 'languages'")
    # Snowball's own list of German words and stems: aufeinander -> aufeinand, häuser -> haus.
    assert [stemmer("de")(word) for word in ("aufeinander", "häuser")] == ["aufeinand", "haus"]
    words = {"fr": "continuellement", "es": "torneados", "ru": "важными", "it": "abbandonata", "sv": "klokheten"}
    assert {name: stemmer(name)(word) for name, word in words.items()} == STEMS


@pytest.mark.parametrize("language", TEXTS)
def test_other_languages_are_noted(language):
    assert "do not look English" in language_note([TEXTS[language]] * 10)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42.7 % (n = 1,203)",
        "Vincent van Gogh, Leonardo da Vinci, Rio de Janeiro, El Salvador, La Paz, Le Havre, Los Angeles.",
        "The film Das Boot was shown in Düsseldorf and in São Paulo.",
        "αβγ-globulin binds the receptor, and Москва is the Russian name of Moscow.",
    ],
)
def test_english_names_and_numbers_are_not(text):
    assert language_note([text]) == language_note([text, ENGLISH] * 40) == ""


def test_a_run_says_once_that_texts_are_not_english(tmp_path):
    path, lines = tmp_path / "own.jsonl", [{"type": "corpus", "format": "metaeval-corpus/1", "name": "own"}]
    for number in range(12):
        text, level = f"{TEXTS['de']} Nummer {number}.", ("full", "partial", "none")[number % 3]
        lines += [{"type": kind, "id": f"{kind}{number}", "text": text} for kind in ("document", "statement")]
        both = {kind: f"{kind}{number}" for kind in ("document", "statement")}
        lines.append({"type": "citation", **both, "level": level})
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    settings = {"protocols": ["classification", "correlation"], "unit": "citation", "interval": {"resamples": 30}}
    results = metaeval.run(dataset="jsonl", data=path, metrics=["overlap", "rouge"], results=tmp_path, **settings)
    assert sum("do not look English" in text for text in cautions(results)) == 1
