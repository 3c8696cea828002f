"""Lists of sources are found by what they hold, whatever their labels, headings and layout."""

from __future__ import annotations

import pytest

from metaeval.citation.readers.source_lists import source_lists

BODY = "The dam opened in 1936 [1]. It is 221 metres tall [2].\n"
A, B = "https://a.example/x", "https://b.example/y"
BOTH = [("1", A), ("2", B)]
UNNUMBERED = [("", A), ("", B)]


@pytest.mark.parametrize(
    "heading", ["## References\n\n", "**Sources:**\n", "Quellen\n", "参考文献：\n", "Works cited\n---\n"]
)
@pytest.mark.parametrize("label", ["{}.", "{})", "({})", "[{}]", "[{}]:", "[^{}]:", "**[{}]**", r"\[{}\]"])
@pytest.mark.parametrize("entry", ["[T]({})", "[{0}]({0})", "T, {}.", "<{}>", "T ({})", "*T*.\n   {}", "{} - T"])
def test_numbered_entries_under_a_heading(heading, label, entry):
    listed = "\n".join(f"{label.format(n)} {entry.format(url)}" for n, url in BOTH)
    (found,) = source_lists(f"{BODY}\n{heading}{listed}")
    assert [(source.label, source.url) for source in found.sources] == BOTH
    assert (found.start, found.end) == (len(BODY), len(f"{BODY}\n{heading}{listed}"))
    assert all(source.title in ("T", "") for source in found.sources)


@pytest.mark.parametrize(
    ("listed", "sources"),
    [
        ('<div align="center">⁂</div>\n\n[^1_1]: ' + A + "\n\n[^1_2]: " + B, [("1_1", A), ("1_2", B)]),
        (f"[1] {A} - T\n[2] {B} - U", BOTH),
        (f"1. {A}\n2. {B}", BOTH),
        ("[1] Handbook of dams\n[2] Atlas", [("1", ""), ("2", "")]),
        ("**Sources:** [1], [2]", [("1", ""), ("2", "")]),
        (f"Sources: {A}, {B}", UNNUMBERED),
        (f"Fuentes:\n- {A}\n- [T]({B})", UNNUMBERED),
        (f"Sources\n\nTitle A\n{A}\n\nTitle B\n\n{B}", UNNUMBERED),
        ("Bibliography\n\nSmith, J. (2020). A. Journal.\n\nJones, K. (2021). B.", [("", ""), ("", "")]),
    ],
)
@pytest.mark.parametrize("remark", ["", "\n\nLet me know if you want more."])
def test_other_lists_and_a_closing_remark(listed, sources, remark):
    (found,) = source_lists(f"{BODY}\n{listed}{remark}")
    assert [(source.label, source.url) for source in found.sources] == sources
    assert found.start == len(BODY)
    assert (BODY + "\n" + listed + remark)[found.end :].strip() == remark.strip()


@pytest.mark.parametrize(
    "text",
    [
        "Facts:\n1. The dam opened in 1936 [1].\n2. It is tall [2].",
        f"{BODY}\n## Sources of energy\n- Coal, see {A}\n- Wind",
        f"References\n[1] {A}",
        f"{BODY}\n```\nReferences\n[1] {A}\n```",
        "Energy comes from several places.\n\nSources:\n- Coal\n- Wind",
        f"{BODY}\n- Coal ([A]({A})) is dirty.\n- Wind ([B]({B})).",
    ],
)
def test_what_is_no_list_of_sources(text):
    assert source_lists(text) == []


def test_brackets_of_an_address_stay():
    (found,) = source_lists(f"{BODY}\n[1]: https://a.example/Foo_(bar)\n[2] (https://b.example/Foo_(bar)).")
    assert [source.url for source in found.sources] == ["https://a.example/Foo_(bar)", "https://b.example/Foo_(bar)"]


@pytest.mark.parametrize(
    "piece",
    [
        *("[1] ", "[1]\n", "References\n", "https://a.example/(", "[a](https://a.example/(", "1. x\n", "[[", "(", "\n"),
        *(
            "```\n",
            "Sources: [1]",
            "- https://a.example\n",
            "-",
            "*",
            " ",
            "[^",
            "www.",
            "# ",
            "a\n\nhttps://a.example\n",
        ),
    ],
)
def test_a_long_hostile_text_leaves_the_body(piece):
    text = piece * (1_000_000 // len(piece))
    assert all(listed.start >= len(BODY) - 1 for listed in source_lists(f"{BODY}\n{text}"))
