import csv
import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.xsum_hallucination import DATASET, SCORES, SPANS, SYSTEMS
from metaeval.corpus.loading import check_options, load_dataset

HEADER = "system_bbcid,R1,R2,RL,BERTScore,Entailment,Faithful,Factual\n"
ROWS = "ptgen_1,.2,.1,.2,.7,.01,.5,0.0\nbert_withckpt_1,.3,.1,.2,.8,.9,1.0,1.0\n"
TEXTS = (
    "bbcid,system,summary,hallucination_type,worker_id\n"
    '1,PtGen,"one, quoted",extrinsic,wid_0\n1,PtGen,"one, quoted",NULL,wid_1\n1,BERTS2S,other,NULL,wid_0\n'
    '1,PtGen,"one, quoted",intrinsic,wid_0\n'
)


@pytest.fixture
def xsum(tmp_path):
    """Load made text as if it were the two published files."""

    def load(rows=ROWS, **options):
        paths = {SCORES: tmp_path / SCORES, SPANS: tmp_path / SPANS}
        paths[SCORES].write_text(HEADER + rows)
        paths[SPANS].write_text(TEXTS)
        return DATASET.load("all", paths, check_options(DATASET, options))

    return load


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("gpt_1,.2,.1,.2,.7,.01,.5,0.0\n", "line 4: field 'system_bbcid' is \"gpt_1\"; allowed: SYSTEM_ARTICLE with"),
        ("ptgen_2,.2,.1\n", "line 4 does not hold one value for each of system_bbcid, R1, R2"),
        ("ptgen_1,.2,.1,.2,.7,.01,.5,0.0\n", "rating id 'ptgen_1' is used twice"),
    ],
)
def test_faulty_rows_are_told(xsum, row, says):
    with pytest.raises(UserError, match=re.escape(says)):
        xsum(ROWS + row)


@pytest.mark.parametrize(
    ("metric", "rho"),
    # Spearman with faithfulness in the paper: the README of ../shared/data.
    [("ROUGE-1", 0.197), ("ROUGE-2", 0.162), ("ROUGE-L", 0.162), ("BERTScore", 0.190), ("Entailment", 0.431)],
)
def test_the_papers_correlations_are_plain_spearman(real_folder, metric, rho):
    ratings = load_dataset(DATASET, None, real_folder)
    assert (len(ratings.rows), len({row.group for row in ratings.rows})) == (1992, 498)
    scores = [ratings.scores[metric][row.id] for row in ratings.rows]
    assert spearmanr(scores, [row.gold for row in ratings.rows])[0] == pytest.approx(rho, abs=0.0005)


def test_systems_of_the_two_real_files_are_paired_by_what_was_marked_in_them(real_folder):
    # The files name the systems differently. The share of a summary that nobody marked, taken from the spans, agrees
    # with the published faithfulness for the system that it is paired with, and for no other.
    ratings = load_dataset(DATASET, None, real_folder)
    assert all(row.text for row in ratings.rows)
    unmarked = {system: {} for system in SYSTEMS.values()}
    with (real_folder / DATASET.folder / SPANS).open(newline="") as file:
        for span in csv.DictReader(file):
            if span["system"] in unmarked and span["hallucinated_span_start"] not in ("NULL", ""):
                length = int(span["hallucinated_span_end"]) - int(span["hallucinated_span_start"]) + 1
                marked = 0 if int(span["hallucinated_span_start"]) < 0 else length / len(span["summary"])
                unmarked[span["system"]].setdefault(span["bbcid"], []).append(-marked)
    for system in unmarked:
        gold = {row.group: row.gold for row in ratings.rows if row.system == system}
        agreement = {}
        for other, shares in unmarked.items():
            both = sorted(gold.keys() & shares.keys())
            agreement[other] = np.corrcoef([gold[key] for key in both], [np.sum(shares[key]) for key in both])[0, 1]
        assert agreement[system] > 0.5
        assert max(value for other, value in agreement.items() if other != system) < 0.4
