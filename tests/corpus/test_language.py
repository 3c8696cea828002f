"""A note where statements are not English, and none where they are."""

import json
from pathlib import Path

import pytest

import metaeval
from metaeval.corpus.sentences import language_note
from metaeval.report.cautions import cautions

DATA = Path(__file__).parents[3] / "shared" / "data"

# The first sentences of the Universal Declaration of Human Rights, article 1, in the official translations.
OTHERS = {
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
    "begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de "
    "conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    "Spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y "
    "conciencia, deben comportarse fraternalmente los unos con los otros.",
    "Dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en "
    "geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "Japanese": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "Arabic": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.",
}


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_are_told(language):
    assert "do not look English" in language_note([OTHERS[language]] * 10)


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
    assert language_note([text]) == ""
    assert language_note([text, "All human beings are born free and equal in dignity and rights."] * 40) == ""


def test_the_shipped_corpus_is_english():
    assert language_note(one.text for one in metaeval.load_corpus().statements.values()) == ""


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
@pytest.mark.parametrize("dataset", ["wice", "factcheck_gpt"])
def test_no_published_set_is_called_another_language_nor_any_tenth_of_one(dataset):
    texts = [one.text for one in metaeval.load_corpus(dataset, data=DATA).statements.values()]
    assert not any(language_note(texts[at : at + 20]) for at in range(0, len(texts), 20))


def test_a_run_says_it_once(tmp_path):
    path, lines = tmp_path / "own.jsonl", [{"type": "corpus", "format": "metaeval-corpus/1", "name": "own"}]
    for number in range(12):
        text, level = f"{OTHERS['German']} Nummer {number}.", ("full", "partial", "none")[number % 3]
        lines += [{"type": kind, "id": f"{kind}{number}", "text": text} for kind in ("document", "statement")]
        both = {kind: f"{kind}{number}" for kind in ("document", "statement")}
        lines.append({"type": "citation", **both, "level": level})
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    settings = {"metrics": ["overlap", "rouge"], "protocols": ["classification", "correlation"], "unit": "citation"}
    results = metaeval.run(dataset="jsonl", data=path, results=tmp_path, **settings)
    assert sum("do not look English" in text for text in cautions(results)) == 1
