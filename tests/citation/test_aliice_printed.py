"""ALiiCE's paper to the letter (profile "printed"), and replies of one line of text."""

import json
from pathlib import Path

import pytest

from metaeval.citation.alce.correctness import rouge_lsum
from metaeval.citation.aliice.claim_options import PAPER, PRINTED, aliice_profile
from metaeval.citation.aliice.claim_rewriting import read_claim, read_line
from metaeval.citation.aliice.claims import read_sentences
from metaeval.citation.aliice.mark_positions import answer_cvcp
from metaeval.citation.parsers.dependency_parsers import parse_of, stored_parser

GOLDEN = Path(__file__).parents[1] / "golden" / "aliice_parser.json"
RECORDS = {record["id"]: record for record in json.loads(GOLDEN.read_text(encoding="utf-8"))["sentences"]}


def claims(name, profile):
    record = RECORDS[name]
    stored = record["commas_kept"]
    parser = stored_parser({stored["parser_input"]: parse_of(stored["parse"])})
    (read,) = read_sentences([record["sentence"]], parser, profile)
    return [claim.text for claim in read.claims]


def test_algorithm_1_on_the_papers_figures():
    # Figure 5: Grey is the lowest common ancestor and the first node: Sloan is masked, then Grey replaced by Sloan.
    assert claims("paper_fig5", PRINTED) == claims("paper_fig5", PAPER)
    # Figure 11: the ancestor is the root. The first claim masks the clause and keeps the comma before it, which only
    # Appendix C removes; the second is the clause that replaces the root.
    first, second = claims("paper_fig11", PRINTED)
    assert first.rstrip(" ,") == claims("paper_fig11", PAPER)[0].rstrip(" ,")
    assert second == claims("paper_fig11", PAPER)[1]


def test_the_profile_is_the_paper_but_for_what_it_prints():
    assert PRINTED.signature == "printed"
    changed = {"rules": "algorithm", "cvcp": "all sentences", "rouge": "L"}
    assert aliice_profile("paper", **changed).signature == "paper|rules=algorithm|cvcp=all sentences|rouge=L"
    assert {name: getattr(PRINTED, name) for name in changed} == changed


def test_equation_4_over_all_sentences():
    # Positions 7 and 10: mean 8.5, deviation 1.5; the second sentence has no citation and counts as 0.
    sentences = ["Cups can be made of glass[1] or plastic[2][3].", "Tea is hot."]
    assert answer_cvcp(sentences) == pytest.approx(1.5 / 8.5)
    assert answer_cvcp(sentences, uncited_is_zero=True) == pytest.approx(1.5 / 8.5 / 2)
    assert answer_cvcp(["Tea is hot."], uncited_is_zero=True) == 0
    assert answer_cvcp([], uncited_is_zero=True) is None


def test_rouge_l_reads_the_texts_as_one_sequence():
    # Two sentences in the other order: ROUGE-Lsum matches each sentence with the union of the others and finds all
    # four words; the longest common subsequence of the whole texts has two of them.
    text, reference = "Glass breaks. Tea cools.", "Tea cools. Glass breaks."
    assert rouge_lsum([text], [[reference]]) == [1.0]
    assert rouge_lsum([text], [[reference]], kind="rougeL") == [0.5]
    assert rouge_lsum([text], [[]], kind="rougeL") == [None]


@pytest.mark.parametrize(
    ("reply", "claim"),
    [
        ("Other signs include Deuel's halo sign.", "Other signs include Deuel's halo sign."),
        ("Modified sentence: Tea is hot.", "Tea is hot."),
        ("Claim: Tea is hot.", "Tea is hot."),
        ('"Tea is hot."', "Tea is hot."),
        ("\n Tea is hot.\n", "Tea is hot."),
        ("Tea is hot.\nI left out the rest.", None),
        ("Tea is hot [1].", None),
        ("", None),
        ("...", None),
        ("Modified sentence:", None),
    ],
)
def test_one_line_of_plain_text_is_a_reply(reply, claim):
    assert read_line(reply) == claim
    # The strict form refuses all of them.
    assert read_claim(reply) is None
