"""Sentences, names and headings: what is shown of values, which name is near, which role a heading has."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from metaeval.core import declared, errors, files, headings, registry

NAMES = ["correlation", "classification", "retrieval", "decision"]
OPTIONS = {
    "plain": {"model": "m"},
    "minilm-cosine": {"model": "m"},
    "nli:x": {"model": "./x"},
    "nli:y": {},
    "overlap": {"model": "z"},
}
TEXTS = [
    "=1+1",
    "+1",
    "-1",
    "-1.5e3",
    "-x",
    "@a",
    "\tx",
    "\rx",
    "＝1",
    "a\tb\nc",
    "a\x1bb\u2028c",
    "-.5",
    "+5.",
    "1=",
    "",
    "-",
    "--1",
]


def test_values_and_names_as_sentences_have_them(recorded):
    told = recorded.told
    numbers = [0, 1, 2, 999, 1000, 1234567]
    known = ["overlap", "rouge", "bm25"]
    recorded.held(
        "core-words",
        {
            "count": [errors.count(number, noun) for number in numbers for noun in ("group", "reply", "day", "query")],
            "shown": [
                errors.shown(value, 6) for value in ("abcd", "abcde", 12345, 123456, 1234567, [1, {2}], "é", None)
            ],
            "wide": [errors.shown("x" * size) for size in (58, 59)],
            "near": [recorded.named(errors.did_you_mean(name, known)) for name in ("overlp", "rogue", "bm", "zzz", "")],
            "hint": [recorded.named(errors.shown_with_hint(value, known)) for value in ("rogue", "zzz", 3, ["rouge"])],
            "unknown": [
                recorded.named(str(errors.unknown("x", name, known, then)))
                for name in ("bm2", "q")
                for then in ("", "9")
            ],
            "none": recorded.named(str(errors.unknown("x", "y", []))),
            "long": [len(str(errors.UserError("a " + "x" * size + " b"))) for size in (299, 300, 400)],
            "visible": [errors.visible("a\x1bb\tc\nd\u202ee", keep) for keep in ("", "\t", "\t\n")],
            "model": [vars(errors.NoModelError("a/b", "1 MB", "off", metric)) for metric in ("", "nli")],
            "extra": errors.install_extra("xlsx"),
            "columns": errors.ColumnsError("s", {"a": "b"}).columns,
            "csv": [files.csv_text([[text, 1, None]], "\n", mark) for text in TEXTS for mark in ",\t"],
            "safe": [files.safe_name(text) for text in ("a b/c", "é.-_", "x" * 81, "::a::")],
            "local": [[str(files.local_path(text)) for text in (".", "./a", "/a", "a/b", "tests-no")]],
            "signature": files.signature({"b": 1, "a": "x|y\n z"}),
            "resampled": [files.resampled_fields(0.9, 5, 3), files.resampled_fields(0.9, 5, 3, 2.5)],
            "ending": [files.ending(then, mark) for then in ("", "x") for mark in ":;"],
            "mapped": [
                headings.mapped(kind, columns)
                for kind in (headings.SCORES, headings.RATINGS, headings.PAIRS, headings.CITATIONS, headings.LABELS)
                for columns in ({"id": "K", "level": "L", "source": "S"}, {"gold": "G", "passages": "P", "text": "T"})
            ],
            "roles": [
                told(headings.read_columns, columns, headings.SCORES)
                for columns in (["a=b"], ["score = x"], ["score"], 3)
            ],
            "code": [
                registry.is_code(kind, name)
                for kind in ("metric", "dataset")
                for name in (
                    "a",
                    "a:B",
                    "nli:x",
                    " nli:x ",
                    "ensemble:nli:x+rouge",
                    "ensemble:a:B+rouge",
                    "rouge:x",
                    "ragas:faithfulness",
                )
            ],
            "retyped": [registry.retyped(name, OPTIONS) for name in (*OPTIONS, "nli:z", "ragas:faithfulness")],
            "next": [registry.next_for(kind, "zzz") for kind in ("metric", "dataset", "protocol", "analysis")],
            "lists": [
                [declared.as_list(value), told(declared.as_numbers, value)]
                for value in ("a, b,,c ", "1,2.5,", "", 3, 2.5, [1], None, True)
            ],
        },
    )


class Inner(BaseModel):
    depth: int = Field(0, ge=0)


class Settings(declared.Strict):
    """Settings of many kinds."""

    whole: Annotated[int, declared.Flag("N", "-n")] = 1
    """A whole number.

    More of it."""
    share: float = 0.5
    truth: bool = False
    word: Literal["one", "two"] | None = None
    place: Path | None = None
    names: declared.Names = ()
    texts: declared.TextList = ()
    numbers: declared.NumberList = ()
    option: declared.OptionText = ""
    there: declared.ExistingPath | None = None
    long_name: Annotated[str, declared.Flag(name="short_name"), declared.one_of("kind", ["full", "none"], f="full")] = (
        "none"
    )
    metrics: declared.MetricNames = ()
    inner: Inner = Inner()


VALUES = {
    "whole": [1, "2", 1.5, True, None, "x"],
    "share": [1, float("nan"), float("inf"), True],
    "truth": [True, 1, "yes", "x"],
    "word": ["one", "tow", 3],
    "place": ["x", 3],
    "names": ["a, b", ["a", "b"], [1], 3],
    "texts": ["a, b", ["a"], 3],
    "numbers": ["1, 2", 3, [1, 2], "x", ","],
    "option": ["x", 5, True],
    "there": ["here", "nowhere"],
    "long_name": ["f", "full", "ful"],
    "metrics": ["a,b", ["a"], 3, len, [len], lambda: 1],
    "inner": [{"depth": 1}, {"depth": -1}, {"deep": 1}, 3],
    "hole": [1],
    "inner.depth": [1],
}


def test_declared_settings_are_taken_or_refused(recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").touch()
    spelled = {"whole": "--whole", "word": "word", "inner": "--inner", "numbers": "--set numbers", "texts": "--texts"}
    found = {"values": {}, "spelled": {}}
    for name, values in VALUES.items():
        for place, words in (("values", {}), ("spelled", spelled)):
            told = [recorded.told(declared.validated, Settings, {name: value}, "a file", words) for value in values]
            found[place][name] = [getattr(one, name) if isinstance(one, Settings) else one for one in told]
    for name, field in Settings.model_fields.items():
        kinds = len([*declared.kinds_of(field.annotation)])
        flag = [declared.is_typed(field), declared.flag_of(field).metavar, declared.option_of(name, field)]
        found[name] = [kinds, declared.named_values(field.annotation), flag]
    with pytest.raises(ValueError, match="frozen"):
        Settings().whole = 2
    recorded.held("core-declared", found)


def test_a_shown_field_keeps_texts_as_they_are_shown():
    class Kept:
        words: errors.Words = errors.ShownField("a\n")
        texts: errors.Texts = errors.ShownField(("b\n",))

    assert (Kept.words, Kept.texts) == ("a ", ("b ",))
    assert TypeAdapter(errors.Texts).validate_python(["c\n", "d"]) == ("c ", "d")
