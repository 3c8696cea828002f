"""Perfect detectors: what they score under labels that do not mean what they detect, and where they are printed."""

import csv
import io

import pytest

from metaeval.core.config import load_run
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Result
from metaeval.report.result_tables import lay_out
from metaeval.report.table_files import table_text
from metaeval.runs.evaluate import run

FULL, PARTIAL = SupportLevel.FULL, SupportLevel.PARTIAL
# Three chunks of two words. Of three statements, one is supported by chunk 0, one by chunks 0 and 1 together, and one
# partially by chunk 2.
PAGE = Document("d", sentences=("One rain.", "Two rivers.", "Three floods."))
CITED = [(FULL, (0,)), (FULL, (0, 1)), (PARTIAL, (2,))]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    statements = {f"s{n}": Statement(f"s{n}", f"Rain fell {n}.", f"g{n}") for n in range(len(CITED))}
    citations = tuple(Citation(f"c{n}", f"s{n}", "d", level, Evidence(held)) for n, (level, held) in enumerate(CITED))
    corpus = Corpus("made", {"d": PAGE}, statements, citations)

    def made(*overrides) -> Result:
        settings = {"metrics": "overlap", "protocols": "classification", "results": folder}
        quick = ["chunk.size=2", "interval.resamples=0", "comparison.permutations=0", *overrides]
        return run(load_run(None, settings, quick), data=corpus).results[0]

    return made


def test_under_touched_a_detector_of_full_support_passes_over_parts_of_a_set(result):
    found = result("evidence.rule=touched").perfect
    # Full: a whole set and two halves. Partial: one. None: five. Full support is found in one of three full chunks:
    # against partial and none alike it wins 1/3 and ties 2/3.
    assert (found.full, found.incomplete) == (3, 2)
    assert found.values["fs_ps"] == pytest.approx(
        # Shares 1, 1/2, 1/2 against 1: one tie of three.
        {FULL_SUPPORT: 1 / 3 + 2 / 3 / 2, ANY_SUPPORT: 1 / 2, EVIDENCE_SHARE: 1 / 6}
    )
    assert found.values["fs_ns"] == pytest.approx({FULL_SUPPORT: 2 / 3, ANY_SUPPORT: 1, EVIDENCE_SHARE: 1})
    assert found.values["ps_ns"] == pytest.approx({FULL_SUPPORT: 1 / 2, ANY_SUPPORT: 1, EVIDENCE_SHARE: 1})


def test_under_complete_it_finds_them_all(result):
    found = result().perfect
    assert (found.full, found.incomplete) == (1, 0)
    # Shares: 1 against 1, 1/2, 1/2.
    assert found.values["fs_ps"] == pytest.approx({FULL_SUPPORT: 1, ANY_SUPPORT: 1 / 2, EVIDENCE_SHARE: 5 / 6})


def test_the_csv_has_a_column_for_each(result):
    rows = csv.DictReader(io.StringIO(table_text(lay_out(result("evidence.rule=touched")), "csv")))
    (found,) = (row for row in rows if (row["metric"], row["measure"]) == ("overlap", "fs_ps"))
    values = [float(found[name]) for name in ("perfect_full", "perfect_any", "perfect_share")]
    assert values == pytest.approx([2 / 3, 1 / 2, 1 / 6])
