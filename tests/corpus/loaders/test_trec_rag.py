import json

import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.loaders.trec_rag import JUDGE, NO_SEGMENT, NOT_JUDGED, RAG24, RAG25, VERDICTS_FILE
from metaeval.corpus.loading import check_options, load_dataset
from metaeval.corpus.model import Corpus

QUICK = {"interval": {"resamples": 50}, "comparison": {"permutations": 0}}


def answer(run, *support, key="ID", topic="topic_id", text="A sentence."):
    """Return an answer of one sentence for topic 7 with citations of the segments m#0, m#1 and so on."""
    citations = [
        {f"citation{key}": place, "reference": f"m#{place}", "support": level} for place, level in enumerate(support)
    ]
    return {topic: "7", "run_id": run, "sentences": [{f"sentence{key}": 0, "text": text, "citations": citations}]}


def verdict(key, label):
    return {"key": key, "human_label": "FS", "opus_nist_label": label}


@pytest.fixture
def load(tmp_path):
    """Load answers made in a test as if they were the two files of 2024 and the verdicts, or the one of 2025."""

    def loaded(dataset=RAG24, verdicts=None, **options):
        rows = {
            "one.jsonl": [answer("r", "2", "0")],
            "two.jsonl": [answer("s", "1", "-1", key="Id", text=float("nan"))],
        }
        if dataset is RAG25:
            rows = {"rag25.jsonl": [answer("r", "2", "0", topic="narrative_id")]}
        else:
            rows[VERDICTS_FILE] = (
                [verdict("r|7|s0|c0", "PS"), verdict("x|7|s0|c0", "NS")] if verdicts is None else verdicts
            )
        for name, content in rows.items():
            (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in content))
        return dataset.load("all", {name: tmp_path / name for name in rows}, check_options(dataset, options))

    return loaded


def test_both_spellings_and_levels_as_strings_are_read_and_what_is_not_judged_is_counted(
    load,
):
    ratings = load()
    assert {row.id: (row.gold, row.group, row.system, row.text) for row in ratings.rows} == {
        "r|7|s0|c0": (2.0, "7", "r", "A sentence."),
        "r|7|s0|c1": (0.0, "7", "r", "A sentence."),
        "s|7|s0|c0": (1.0, "7", "s", ""),  # a text that is NaN in the file
    }
    assert ratings.dropped == {NOT_JUDGED: 1}
    assert ratings.scores[JUDGE] == {"r|7|s0|c0": 1.0, "r|7|s0|c1": None, "s|7|s0|c0": None}
    assert {row.id: row.gold for row in load(RAG25).rows} == {"r|7|s0|c0": 2.0, "r|7|s0|c1": 0.0}


def test_segments_make_it_a_corpus(load, tmp_path):
    sources = tmp_path / "segments.jsonl"
    sources.write_text("".join(json.dumps({"docid": f"m#{n}", "segment": f"Segment {n}."}) + "\n" for n in (0, 5)))
    corpus = load(sources=str(sources))
    assert isinstance(corpus, Corpus)
    assert [(c.id, corpus.documents[c.document_id].text) for c in corpus.citations] == [
        ("r|7|s0|c0", "Segment 0."),
        ("s|7|s0|c0", "Segment 0."),
    ]
    assert corpus.dropped == {NOT_JUDGED: 1, NO_SEGMENT: 1}
    assert corpus.scores == {JUDGE: {"r|7|s0|c0": 1.0, "s|7|s0|c0": None}}
    sources.write_text(json.dumps({"docid": "m#9", "segment": "Another."}))
    with pytest.raises(UserError, match="holds none of the 2 cited segments"):
        load(sources=str(sources))


def test_faulty_files_are_told(load):
    with pytest.raises(UserError, match="field 'opus_nist_label' is \"Yes\"; allowed: "):
        load(verdicts=[verdict("r|7|s0|c0", "Yes")])
    with pytest.raises(UserError, match="the verdict that an earlier line has for the same citation"):
        load(verdicts=[verdict("r|7|s0|c0", "FS"), verdict("r|7|s0|c0", "NS")])
    assert load(verdicts=[verdict("r|7|s0|c0", "FS")] * 2).scores[JUDGE]["r|7|s0|c0"] == 2.0


@pytest.mark.parametrize(
    ("dataset", "levels", "not_judged", "groups", "systems"),
    [
        # The list of development data, row trec_rag.
        (RAG24, {"full": 2974, "partial": 1882, "none": 2729}, 110, 22, 45),
        (RAG25, {"full": 4018, "partial": 3599, "none": 5173}, 0, 17, 76),
    ],
)
def test_real_counts(real_folder, dataset, levels, not_judged, groups, systems):
    ratings = load_dataset(dataset, None, real_folder)
    assert ratings.level_counts() == levels
    assert sum(ratings.dropped.values()) == not_judged
    assert (len({row.group for row in ratings.rows}), len({row.system for row in ratings.rows})) == (groups, systems)


def test_the_chat_models_values_on_2024_come_out(real_folder, tmp_path):
    options = {"dataset": "trec_rag24", "data": real_folder, "results": tmp_path}
    (result,) = metaeval.evaluate(protocols=["classification"], **options, **QUICK)
    (row,) = [row for row in result.rows if row.kind == "metric"]
    # An independent script.
    assert {key: round(100 * row.values[key].value, 1) for key in ("fs_ns", "fs_ps", "ps_ns")} == {
        "fs_ns": 83.0, "fs_ps": 70.0, "ps_ns": 69.2,
    }  # fmt: skip
    judged = load_dataset(RAG24, None, real_folder).scores[JUDGE]
    assert sum(score is not None for score in judged.values()) == 6693
