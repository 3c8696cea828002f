"""Attributed QA and AggreFact on made files of the shape that their repositories document.

The files themselves are not at hand. Headings and values are those of the table "Dataset Structure" in the README of
google-research-datasets/Attributed-QA at 01f114b (`Y / N`; '-' stands for no rating in the file), and of the table
"AggreFact Benchmark" in the README of Liyan06/AggreFact at 52fffce, spelt as in its final_result.ipynb.
"""

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.rated_pairs import AGGREFACT, ATTRIBUTED_QA, REPEATED, UNRATED
from metaeval.corpus.loading import check_options

ANSWERS = ("system_name", "question", "answer", "attribution", "passage", "human_rating", "auto_ais", "nli_score")
PASSAGE = 'Title: Jason Flemyng\nSection: Work\n\nHe said: "It was a bit of a nightmare, the film cost a fortune."'
FLEMYNG = ("Post-4", "who played hyde", "Jason Flemyng", "http://en.wikipedia.org/wiki/Jason_Flemyng#2", PASSAGE)
SYSTEMS = ("DAE", "QuestEval", "SummaC-ZS", "SummaC-Conv", "QAFactEval")
SUMMARIES = (
    *("dataset", "origin", "id", "doc", "summary", "model_name", "label", "cut"),
    *(f"{system}_{kind}" for system in SYSTEMS for kind in ("score", "label")),
)
NO_SCORES = {name: "" for name in SUMMARIES if name.endswith(("_score", "_label"))}


def answer(rating, verdict="Y", score="0.9814687", **changed):
    return {**dict(zip(ANSWERS, (*FLEMYNG, rating, verdict, score), strict=True)), **changed}


def summary(label, article="dm-1", model="BART", cut="test", **changed):
    about = {"dataset": "FRANK", "origin": "cnndm", "id": article, "model_name": model, "label": label, "cut": cut}
    texts = {"doc": 'The river "Ems" rose,\nthen fell.', "summary": f"The Ems rose, says {model}."}
    return {**about, **texts, **NO_SCORES, "DAE_score": "0.25", "DAE_label": "1", **changed}


@pytest.fixture
def made(tmp_path):
    """Load made rows as if they were the file of a data set."""

    def load(dataset, rows, split="", headings=None, **options):
        path = tmp_path / "made.csv"
        names = headings or (ANSWERS if dataset is ATTRIBUTED_QA else SUMMARIES)
        lines = [names, *([row[name] for name in names] for row in rows)]
        quoted = (",".join('"{}"'.format(cell.replace('"', '""')) for cell in line) for line in lines)
        path.write_text("\ufeff" + "\n".join(quoted), "utf-8")
        return dataset.load(split or dataset.default_split, {"made": path}, check_options(dataset, options))

    return load


QA_ROWS = [
    answer("Y"),
    answer("N", "N", "0.1", system_name="RTR-1", answer="Nobody, he \"said\",\nthen", passage=""),
    answer("-", question="an unrated question"),
    answer("", question="another"),
    answer("N", "-", "-", question="who rose"),
    answer("N", "N", "nan", question="who rose"),
    answer("Y"),
]  # fmt: skip


def test_an_answer_becomes_a_rating_with_autoais_scores(made):
    ratings = made(ATTRIBUTED_QA, QA_ROWS)
    first, second, *_ = ratings.rows
    assert [row.id for row in ratings.rows] == [
        *("Post-4:who played hyde:1", "RTR-1:who played hyde:1", "Post-4:who rose:1", "Post-4:who rose:2")
    ]
    assert [row.group for row in ratings.rows] == ["who played hyde"] * 2 + ["who rose"] * 2
    assert [row.system for row in ratings.rows] == ["Post-4", "RTR-1", "Post-4", "Post-4"]
    assert [row.gold for row in ratings.rows] == [2, 0, 0, 0]
    assert first.text == "The answer to the question 'who played hyde' is 'Jason Flemyng'"
    given = {"question": FLEMYNG[1], "answer": FLEMYNG[2], "attribution": FLEMYNG[3], "source": PASSAGE}
    assert first.fields == {**given, "statement": first.text}
    assert second.fields["source"] == ""
    assert second.fields["answer"] == 'Nobody, he "said",\nthen'
    assert list(ratings.scores["AutoAIS"].values()) == [0.9814687, 0.1, None, None]
    assert list(ratings.scores["AutoAIS verdict"].values()) == [2, 0, None, 0]
    assert ratings.dropped == {UNRATED: 2, REPEATED: 1}
    assert ratings.levels


@pytest.mark.parametrize(
    ("dataset", "row", "column"),
    [
        # A record's place is that of its last line: the first ends on line 5.
        (ATTRIBUTED_QA, answer("maybe"), "line 9: field 'human_rating'"),
        (ATTRIBUTED_QA, answer("Y", "Y", "high"), "line 9: field 'nli_score'"),
        (ATTRIBUTED_QA, answer("Y", question=""), "line 9: field 'question'"),
        (AGGREFACT, summary("0", cut="dev"), "line 5: field 'cut'"),
        (AGGREFACT, summary("0", dataset=""), "line 5: field 'dataset'"),
    ],
)
def test_a_faulty_row_is_told_with_its_line_and_column(made, dataset, row, column):
    with pytest.raises(UserError, match=column):
        made(dataset, [answer("Y") if dataset is ATTRIBUTED_QA else summary("1"), row])
