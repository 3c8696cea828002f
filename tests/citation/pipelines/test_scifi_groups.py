"""SCiFi's Table 4 (topics) and Figure 2 (page views) from records with these fields, counted by hand."""

import pytest

from metaeval import cite
from metaeval.errors import UserError
from metaeval.report.table_files import table_text

PASSAGES = [{"text": "A Dane built it."}, {"text": "It opened in May."}]
INSIDE, END, PLAIN = "A Dane [1] built it [2].", "A Dane built it [1].", "A Dane built it."
TEXTS = [
    (INSIDE, ["Culture", "Europe"], 900),
    (END, ["Culture"], 10),
    (PLAIN, ["Europe", "Culture"], 20),
    (INSIDE, ["Sport"], 30),
    (END, None, None),
]


def made(by, records=TEXTS):
    answers = [
        {
            "id": f"a{number}",
            "question": f"{number}?",
            "text": text,
            "passages": PASSAGES,
            "reference": {name: value for name, value in (("topic", topics), ("views", views)) if value is not None},
        }
        for number, (text, topics, views) in enumerate(records)
    ]
    return cite.tables_scifi(answers, table=[1], by=[by])[f"by-{by}"]


def values(table):
    return {(record["system"], record["measure"]): record["value"] for record in table.records}


def test_texts_by_topic_are_counted_in_each_of_their_topics():
    table = made("topic")
    value = values(table)
    assert list(dict.fromkeys(name for name, _ in value)) == ["Culture", "Europe", "Sport"]  # 3, 2 and 1 texts
    assert [value[name, "samples"] for name in ("Culture", "Europe", "Sport")] == [3, 2, 1]
    # Of the four texts with topics.
    assert [value[name, "share"] for name in ("Culture", "Europe", "Sport")] == [3 / 4, 2 / 4, 1 / 4]
    # Culture: one of three texts has a citation inside, one of three citations; Europe: one of two, one of two.
    assert [value["Culture", name] for name in ("featuring", "inside")] == pytest.approx([1 / 3, 1 / 3])
    assert (value["Europe", "featuring"], value["Europe", "inside"]) == (1 / 2, 1 / 2)
    assert value["Culture", "density"] == pytest.approx((2 + 1) / 2)  # two sentences with a citation
    assert "1 text without it left out" in " ".join(table_text(table, "text").split())


def test_texts_by_page_views_are_cut_into_bins_of_equal_size():
    value = values(made("views"))
    # Four texts, one a bin, the least viewed first.
    assert [name for name, measure in value if measure == "featuring"] == [
        "01: 10 to 10",
        "02: 20 to 20",
        "03: 30 to 30",
        "04: 900 to 900",
    ]
    assert [v for (_, measure), v in value.items() if measure == "featuring"] == [0, 0, 1, 1]
    # 41 texts in 20 bins: 19 of two and one of three.
    many = values(made("views", [(INSIDE if number > 30 else END, None, number) for number in range(41)]))
    sizes = [v for (_, measure), v in many.items() if measure == "samples"]
    assert (len(sizes), sorted(sizes)) == (20, [2] * 19 + [3])
    featuring = [v for (_, measure), v in many.items() if measure == "featuring"]
    assert featuring == sorted(featuring)


def test_only_the_ten_most_frequent_topics_have_a_line():
    table = made("topic", [(END, [f"t{number}", "all"], 1) for number in range(12)])
    assert len({record["system"] for record in table.records}) == 10
    assert "3 further values without a line" in " ".join(table_text(table, "text").split())


def test_a_field_that_no_text_has_is_one_sentence():
    with pytest.raises(UserError, match=r"No text has \"topics\" in its 'reference'\. Did you mean 'topic'\?"):
        made("topics")
