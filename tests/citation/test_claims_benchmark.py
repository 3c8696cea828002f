"""The readings of claims: their shares and agreement by hand, and the drawn sentences where the data are there."""

import pytest

from benchmarks.claims import readings as module
from benchmarks.claims.__main__ import main
from benchmarks.claims.drawing import DATA, FILES, PLAN, READING, Pointer, answers_of, cited, committed, draw
from benchmarks.claims.readings import Reading, read_readings, reading_of, report
from benchmarks.claims.sheet import DrawnClaim, claims_of
from metaeval.errors import UserError

CLAIMS = [
    DrawnClaim(f"{number}.1", Pointer("f", "a", number, "several", str(number)), text, "[1]", rule)
    for number, (text, rule) in enumerate([("A.", "tree"), ("B.", "tree"), ("C.", "fallback: x"), ("D.", "tree")], 1)
]


def read_by(reader, *verdicts):
    return [
        Reading(reader, claim.id, claim.sha256, verdict, "") for claim, verdict in zip(CLAIMS, verdicts, strict=True)
    ]


def test_shares_and_agreement_by_hand():
    readings = [
        *read_by("1", "clean", "not clean", "clean", "clean"),
        *read_by("2", "clean", "clean", "not clean", "not clean"),
    ]
    lines = "\n".join(report(CLAIMS, readings))
    # The fallback is not clean, whatever the first reader says: clean for 1 are A and D, for 2 A and B, for both A.
    assert "fallbacks: 1 of 4, 25.0 % (wanted: at most 25 %; reached)" in lines
    assert "reader 1: claims clean: 2 of 4, 50.0 % (wanted: at least 60 %; missed)" in lines
    assert "all readers: claims clean: 1 of 4, 25.0 %" in lines
    # They agree on A and C, 2 of 4, as often as chance would have it (.5 * .5 + .5 * .5): kappa 0. Of 8 ratings 4 are
    # clean: alpha = 1 - (2 / 4) / (2 * 4 * 4 / (8 * 7)) = 1 - .5 / .571 = .125.
    assert "agreement of the first two readers: 2 of 4, 50.0 %" in lines
    assert "Cohen's kappa 0.000, Krippendorff's alpha 0.125" in lines


def test_a_changed_claim_is_unread():
    readings = read_by("1", "clean", "clean", "not clean", "not clean")
    changed = [CLAIMS[0], DrawnClaim("2.1", CLAIMS[1].pointer, "B, too.", "[1]", "tree"), *CLAIMS[2:]]
    lines = "\n".join(report(changed, readings))
    assert "reader 1: claims clean: 1 of 3, 33.3 %" in lines
    assert "unread, or changed since: 1" in lines


def test_of_two_readings_with_the_same_reasons_the_report_says_so():
    row = CLAIMS[1]
    alike = [Reading(reader, row.id, row.sha256, "not clean", "lost") for reader in ("1", "2")]
    assert "same reason: 1 of 1, 100.0 % of the claims that both reject" in "\n".join(report(CLAIMS, alike))


@pytest.mark.parametrize("line", ["2.1,clean,", "1.1,perhaps,", "1.1,not clean,dull", "1.1,clean,lost"])
def test_a_reading_has_one_verdict_of_the_rules_for_each_claim(tmp_path, line):
    path = tmp_path / "reader.csv"
    path.write_text(f"id,verdict,reason\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"reader\.csv"):
        reading_of("1", path, CLAIMS[:1])


def test_missing_data_are_one_sentence(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert capsys.readouterr().out.count("\n") == 1


def test_the_drawn_sentences_are_there_and_every_claim_is_read():
    if not all((DATA / file).is_file() for file in FILES):
        pytest.skip("the published files are not beside the project")
    answers = answers_of(DATA)
    texts = dict(cited(answers))
    assert draw(list(texts), READING, PLAN) == committed()
    claims = claims_of(committed(), texts, answers)
    # Counted with the shipped parser: 252 claims, 26 of them whole sentences where the rules gave up.
    assert sum(claim.fallback for claim in claims) <= module.GOAL_FALLBACKS * len(claims)
    assert {(each.claim, each.sha256) for each in read_readings()} == {(claim.id, claim.sha256) for claim in claims}
    assert "200 sentences; 0 of the 200" in "\n".join(report(claims, read_readings()))
