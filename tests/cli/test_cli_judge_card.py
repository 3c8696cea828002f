"""A judge's card at the command line: what words of verdicts are read, what the files hold, and what is shown."""

import re

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, recall_score

from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.report.judge_card import judge_cards
from metaeval.report.result import load_result

QUICK = tuple(f"--set={key}" for key in ("interval.resamples=0", "comparison.permutations=0"))
RNG = np.random.default_rng(12)
N = 200
PEOPLE = RNG.random(N) < 0.6
JUDGE = np.where(RNG.random(N) < 0.8, PEOPLE, ~PEOPLE)
OTHER = np.where(RNG.random(N) < 0.7, PEOPLE, ~PEOPLE)
SAID = "pass/fail supported/not_supported Supported/unsupported yes/no true/false True/False grounded/hallucinated"
SAID += " faithful/unfaithful correct/incorrect PASSED/FAILED"
WORDS = [*(tuple(pair.replace("_", " ").split("/")) for pair in SAID.split()), (1, 0)]


@pytest.fixture
def carded(cli, held, tmp_path):
    """Write a table, evaluate it, and return what was printed and the values by judge; `record`: of the whole."""

    def ran(columns, *more, record=""):
        columns = {"id": range(len(next(iter(columns.values())))), **columns}
        (tmp_path / "mine.csv").write_text(csv_text([list(columns), *zip(*columns.values(), strict=True)]))
        ended = cli("evaluate", "-d", "ratings", "--data", "mine.csv", "-p", "verdicts", *QUICK, *more)
        if record:
            held(f"report-judge-{record}", ended)
        rows = load_result(tmp_path / "results/latest/verdicts.json").rows
        return ended.out, {row.metric: row.values for row in rows if row.kind == "metric"}

    return ran


@pytest.mark.parametrize("place", range(len(WORDS)))
def test_people_and_judges_use_words_of_their_own(place, carded):
    (yes, no), (yes_too, no_too) = WORDS[place], WORDS[place - 1]
    columns = {"label": np.where(PEOPLE, yes, no), "my_judge": np.where(JUDGE, yes_too, no_too)}
    _, found = carded({"doc": np.arange(N) // 5, **columns, "other": np.where(OTHER, yes, no)})
    for name, said in {"my_judge": JUDGE, "other": OTHER}.items():
        assert found[name]["kappa"].value == pytest.approx(cohen_kappa_score(PEOPLE, said), abs=1e-12)
        assert found[name]["tpr"].value == pytest.approx(recall_score(PEOPLE, said), abs=1e-12)
        assert found[name]["tnr"].value == pytest.approx(recall_score(PEOPLE, said, pos_label=False), abs=1e-12)
    assert found["my_judge"]["kappa:other"].value == pytest.approx(cohen_kappa_score(JUDGE, OTHER), abs=1e-12)


@pytest.mark.parametrize(
    "heading", ["human_label", "annotation", "gold", "ground_truth", "gold_label", "Human Verdict"]
)
def test_labels_under_the_names_that_people_use(heading, carded):
    columns = {"verdict": np.where(JUDGE, "pass", "fail"), heading: np.where(PEOPLE, "pass", "fail")}
    _, found = carded(columns)
    assert found["verdict"]["kappa"].value == pytest.approx(cohen_kappa_score(PEOPLE, JUDGE), abs=1e-12)


def test_yes_and_no_against_three_levels_are_shown_at_both_cuts(carded):
    level = np.random.default_rng(3).integers(0, 3, N)
    columns = {"label": np.array(["none", "partial", "full"])[level], "judge": np.where(JUDGE, "yes", "no")}
    printed, found = carded(columns, record="levels")
    for cut, least in (("full", 2), ("some", 1)):
        kappa = cohen_kappa_score(level >= least, JUDGE)
        assert found["judge"][f"kappa_{cut}"].value == pytest.approx(kappa, abs=1e-12)
        assert re.sub("^0", "", f"{kappa:.3f}".replace("-0", "-")) in printed
        _, chosen = carded(columns, "--set", f"protocol_options.verdicts.against={cut}")
        assert chosen["judge"]["kappa"].value == pytest.approx(kappa, abs=1e-12)
        assert "kappa_full" not in chosen["judge"]
    assert found["judge"]["accuracy"].value is None


def test_a_column_with_an_unknown_word_is_said(carded, refused, caplog):
    judge = np.where(JUDGE, "pass", "fail").astype(object)
    judge[3] = "unsure"
    odd = np.where(JUDGE, "pass", "meh")
    columns = {"label": np.where(PEOPLE, 1, 0), "judge": judge, "nice": np.where(JUDGE, "yes", "no")}
    with pytest.raises(UserError):  # nothing was written
        carded(columns)
    assert '"unsure"' in refused("evaluate", "-d", "ratings", "--data", "mine.csv", "-p", "verdicts", *QUICK)
    printed, found = carded(columns, "--set", "skip_bad_cells=true", record="skipped")
    kept = np.arange(N) != 3
    assert found["judge"]["tpr"].value == pytest.approx(recall_score(PEOPLE[kept], JUDGE[kept]), abs=1e-12)
    assert found["judge"]["tpr"].bounds or found["judge"]["tnr"].bounds
    assert "judge 1 of 200" in printed
    few = np.where(np.arange(N) < 20, "yes", np.where(JUDGE, "okay", "meh"))
    _, found = carded({**columns, "judge": few})
    assert "judge" not in found
    assert '"meh"' in caplog.text or '"okay"' in caplog.text
    _, found = carded({**columns, "judge": odd}, "--map", "none=meh")
    assert found["judge"]["kappa"].value == pytest.approx(cohen_kappa_score(PEOPLE, JUDGE), abs=1e-12)


@pytest.mark.parametrize("cost", ["judge_cost", "judge cost", "judgeCost"])
def test_rows_without_a_label_count_in_the_rates(carded, caplog, cost):
    label = np.where(PEOPLE, "pass", "fail").astype(object)
    label[120:] = ""
    columns = {"document": np.arange(N) // 4, "label": label, "judge": np.where(JUDGE, 1, 0)}
    printed, found = carded({**columns, cost: np.full(N, 0.003)}, "--set=interval.resamples=20", record="unlabelled")
    values = found["judge"]
    tpr, tnr = recall_score(PEOPLE[:120], JUDGE[:120]), recall_score(PEOPLE[:120], JUDGE[:120], pos_label=False)
    assert values["says"].value == pytest.approx(JUDGE.mean(), abs=1e-12)
    assert values["corrected"].value == pytest.approx((JUDGE.mean() + tnr - 1) / (tpr + tnr - 1), abs=1e-12)
    assert values["cost"].value == pytest.approx(3.0)
    assert [*found, printed.count("PPI")] == ["judge", 2]


def test_the_gold_of_annotators_is_their_majority(carded, tmp_path):
    votes = np.where(np.random.default_rng(4).random((N, 3)) < 0.8, PEOPLE[:, None], ~PEOPLE[:, None])
    columns = {f"annotator {place}": np.where(votes[:, place], "pass", "fail") for place in range(3)}
    _, found = carded({**columns, "judge": np.where(JUDGE, "pass", "fail")}, record="majority")
    gold = votes.sum(axis=1) > 1
    assert found["judge"]["kappa"].value == pytest.approx(cohen_kappa_score(gold, JUDGE), abs=1e-12)
    columns.pop("annotator 2")  # ties have no majority
    printed, found = carded({**columns, "judge": np.where(JUDGE, "pass", "fail")}, record="agreed")
    agreed = votes[:, 0] == votes[:, 1]
    kappa = cohen_kappa_score(votes[agreed, 0], JUDGE[agreed])
    assert found["judge"]["kappa"].value == pytest.approx(kappa, abs=1e-12)
    assert found["judge"]["ceiling"].value == pytest.approx(cohen_kappa_score(votes[:, 0], votes[:, 1]), abs=1e-12)
    parts = ("TPR, TNR:", "by them:", f"left out: {np.count_nonzero(~agreed)} annot")
    assert [" ".join(printed.split()).count(part) for part in parts] == [1, 1, 1]  # said on the card
    result = load_result(tmp_path / "results/latest/verdicts.json")
    assert list(result.data.levels) == ["1", "0"]
    (card, _) = judge_cards(result)
    ceiling = f"{found['judge']['ceiling'].value:.3f}".replace("0.", ".", 1)
    assert f": kappa {ceiling} " in card.footnotes[0].text
    assert "000" not in card.footnotes[0].text  # a ceiling without an interval has no ends


def test_the_card_is_shown_wherever_results_are(carded, cli):
    columns = {"label": np.where(PEOPLE, "pass", "fail"), "judge": np.where(JUDGE, "pass", "fail")}
    both, _ = carded(columns, "-p", "verdicts,classification", record="both")
    whole, _ = carded(columns, "--full")
    for printed in (both, whole, cli("results", "show").out):
        assert "TPR" in printed
        assert "people yes" in printed
    assert cli("results", "show", "--format", "csv").out.count("protocol,") == 1


def test_of_many_judges_some_are_shown(carded, recorded, tmp_path):
    random = np.random.default_rng(5)
    level = random.integers(0, 3, N)
    said = [np.where(random.random(N) < 0.4 + n / 10, level, random.integers(0, 3, N)) for n in range(6)]
    words = ("none", "partial", "full"), ("no", "yes", "yes"), (0, 0, 2), (0, 1, 1)
    judges = {f"judge {n}": np.array(words[n % 4])[of] for n, of in enumerate(said)}
    carded({"doc": np.arange(N) // 5, "label": np.array(words[0])[level], **judges})
    result = load_result(tmp_path / "results/latest/verdicts.json")
    cards = {f"{most} {n}": card for most in (1, 6, 12, 20) for n, card in enumerate(judge_cards(result, most))}
    recorded.held("report-judges", {name: recorded.sheet(card)[:5] for name, card in cards.items()})


def test_the_tables_and_the_page_have_the_matrix(carded, tmp_path):
    printed, _ = carded({"label": np.where(PEOPLE, "pass", "fail"), "a judge": np.where(JUDGE, "pass", "fail")})
    assert max(map(len, printed.splitlines())) <= 100 or "Next:" in printed
    result = load_result(tmp_path / "results/latest/verdicts.json")
    _, matrix = judge_cards(result)
    counts = [[int(cell.number) for cell in line.cells] for line in matrix.lines]
    assert counts == [[sum(PEOPLE & JUDGE), sum(PEOPLE & ~JUDGE)], [sum(~PEOPLE & JUDGE), sum(~PEOPLE & ~JUDGE)]]
    page = (tmp_path / "results/latest/report.html").read_text()
    share = f"{100 * sum(PEOPLE & JUDGE) / sum(PEOPLE):.1f}%"
    assert f'class="shaded" style="--share: {share}">{sum(PEOPLE & JUDGE)}<' in page
