"""estimate as typed: from a file of answers and a spreadsheet of labels to a table, with its files and refusals."""

import json
import random
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from metaeval.core.files import csv_text, versions
from metaeval.core.tables import read_table
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.gate_check import check, read_gate
from metaeval.decisions.item_labels import labels_of
from metaeval.report.table_files import load_table
from tests.cli.samples import write_towns

LEVELS = ("full", "partial", "none")


@pytest.fixture
def answers(cli, tmp_path):
    """60 answers of two citations each; some say what their source says. 40 of the citations have labels."""
    chance = random.Random(4)
    labels = write_towns(tmp_path, [(chance.choice(LEVELS), chance.choice(LEVELS)) for _ in range(60)])
    Path("labels.csv").write_text(csv_text([("Item", "Verdict"), *random.Random(2).sample([*labels.items()], 40)]))
    Path("two.csv").write_text("id,one,other\na0,0.5,0.25\n")
    return labels


def test_an_estimate_is_printed_and_written(ran, answers):
    ended = ran("estimate", "answers.jsonl", "--labels", "labels.csv", "-m", "overlap")
    sheet = load_table(Path("results/latest/estimate.json"))
    found = {record["measure"]: record for record in sheet.records}
    truth = sum(level == "full" for level in answers.values()) / len(answers)
    assert found["full"]["low"] < truth < found["full"]["high"]
    assert found["full"]["labels_saved"] > 10
    assert found["full"]["labels_only_low"] < found["full"]["labels_only"] < found["full"]["labels_only_high"]
    assert "no support" in ended.out
    assert "simple random sample of 40 items of 120" in " ".join(ended.out.split())
    Path("one.csv").write_text(csv_text([("id", "one"), *((item, n % 7) for n, item in enumerate(answers))]))
    signed = dict(part.split(":", 1) for part in sheet.signatures[0].split("|"))
    assert [signed[key] for key in ("design", "estimand", "unit", "metric")] == [
        *("item", "set", "citation", "overlap@v1(content_only=True)"),
    ]
    assert signed["data"] == items_of(Path("answers.jsonl")).signed
    assert {*versions("metaeval", "numpy", "scipy").items(), ("interval", "ppi-wilson-0.95")} <= signed.items()
    assert "Written: results/estimate/answers-" in ended.out
    assert "40 labels, one\n" in ran("estimate", "answers.jsonl", "-l", "labels.csv", "-m", "one.csv").out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("estimate -l labels.csv --estimand all", "--estimand is 'all'"),
        ("estimate -l labels.csv --map level=Urteil", 'has no column "Urteil"'),
        ("estimate -l labels.csv --map levels=Verdict", "unknown role. Did you mean 'level'?"),
        ("estimate -l labels.csv -m two.csv", "two.csv holds scores"),
        ("estimate -l labels.csv -m overlop", "Did you mean 'overlap'"),
        ("estimate", "answers holds no human labels: give them with --labels"),
        ("label -n 500 -o a.csv", "-n is 500; allowed: 2 to 120"),
        ("label -o a.pdf", "allowed: a file that ends in .csv"),
        ("label -o labels.csv", "labels.csv exists already and may hold labels"),
        ("label -o a.csv --sampling-unit answer --design uncertain", "Whole answers are drawn at random"),
    ],
)
def test_wrong_input_of_estimate_and_label_ends_in_one_sentence(refused, answers, typed, said):
    assert said in refused(*typed.split(), "answers.jsonl")
    assert not Path("results/estimate").exists()


def test_two_files_are_compared(ran, answers):
    Path("other.jsonl").write_text(Path("answers.jsonl").read_text().replace('"id": "a', '"id": "ba'))
    head, *rows = Path("labels.csv").read_text().split()
    Path("both.csv").write_text("\n".join([head, *rows, *(f"b{row}" for row in rows)]))
    ran("estimate", "answers.jsonl", "other.jsonl", "-l", "both.csv", "-q")
    records = load_table(Path("results/latest/estimate.json")).records
    (full,) = [one for one in records if one["measure"] == "full" and "less" in one["system"]]
    assert (full["value"], full["low"] < 0 < full["high"]) == (pytest.approx(0), True)


def fill(path, truth):
    """Judge a sheet as a person would: the level beside each id."""
    table = read_table(Path(path))
    rows = [[row.text(name) for name in table.headings] for row in table.rows]
    place = table.headings.index("level")
    for row in rows:
        row[place] = truth[row[0]]
    Path("filled.csv").write_text(csv_text([table.headings, *rows]))


@pytest.mark.parametrize(
    ("design", "ending", "unit"),
    [
        *(("random", "csv", "40 items"), ("stratified", "tsv", "40 items"), ("uncertain", "xlsx", "40 items")),
        ("random", "jsonl", "20 whole answers"),
    ],
)
def test_drawn_items_come_back_as_labels(ran, answers, design, ending, unit):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    name = f"to_label.{ending}"
    words = ("--sampling-unit", "answer") if "answers" in unit else ()
    ended = ran("label", "answers.jsonl", "-n", "40", "--design", design, "-o", name, *words)
    assert f"40 of 120 citations{' of 20 whole answers' * len(words[1:])} to judge" in ended.out
    fill(name, answers)
    ended = ran("estimate", "answers.jsonl", "-l", "filled.csv")
    assert f"probabilities of the file; {unit} drawn" in " ".join(ended.out.split())
    found = {one["measure"]: one for one in load_table(Path("results/latest/estimate.json")).records}
    truth = sum(level == "none" for level in answers.values()) / len(answers)
    assert found["none"]["low"] - 0.05 < truth < found["none"]["high"] + 0.05


def test_labels_that_there_are_go_into_the_next_sheet(ran, answers):
    ran(*"label answers.jsonl -n 20 --existing-labels labels.csv --design uncertain -o more.csv".split())
    rows = read_table(Path("more.csv")).rows
    assert len(rows) == 60
    assert sum(row.text("level") == "" for row in rows) == 20
    # Together they are a draw of 60 of 120: the probabilities of all items add up to that.
    assert sum(1 / float(row.text("probability")) for row in rows) == pytest.approx(120, rel=0.1)


def table(path, n, share, seed, level=True):
    """Citations as a table: a score that separates, a level, four to an answer."""
    chance = random.Random(seed)
    rows = []
    for number in range(n):
        bad = chance.random() < share
        score = chance.gauss(0.25 if bad else 0.75, 0.1)
        row = [f"c{number}", f"a{number // 4}", f"statement {number} is so", f"source of {number}", round(score, 4)]
        rows.append([*row, "none" if bad else "full"][: 6 if level else 5])
    heading = ["id", "answer", "statement", "passage", "cheap", "level"][: 6 if level else 5]
    Path(path).write_text(csv_text([heading, *rows]))
    return rows


@pytest.fixture
def gate(cli):
    table("fit.csv", 300, 0.3, 1)
    return cli("gate", "fit", "fit.csv", "--labels", "fit.csv", "-m", "cheap", "-o", "gate.json")


def test_rows_that_name_no_answer_are_said_to_be_independent(cli, caplog):
    table("fit.csv", 300, 0.3, 1)
    rows = read_table(Path("fit.csv")).rows
    kinds = [("Article", "answer"), *((name, name) for name in ("statement", "passage", "cheap", "level"))]
    lines = [[row.text(heading) for _, heading in kinds] for row in rows]
    Path("plain.csv").write_text(csv_text([[name for name, _ in kinds], *lines]))
    words = ("gate", "fit", "plain.csv", "--labels", "plain.csv", "-m", "cheap", "-o", "gate.json")
    assert cli(*words).code == 0
    assert any("no column 'group'" in said and '("Article" has 75 values)' in said for said in caplog.messages)
    caplog.clear()
    assert "300 citations of 75 answers" in " ".join(cli(*words, "--map", "group=Article").out.split())
    assert not any("independent" in message for message in caplog.messages)


def test_a_gate_is_fitted_and_says_what_it_needed(gate):
    assert gate.code == 0, gate.err
    assert "needs 29 unsupported labels without a single miss; there are " in gate.out
    made = json.loads(Path("gate.json").read_text())
    assert made["bound"] <= 0.1
    assert made["metric"] == "cheap"
    assert 0.3 < made["threshold"] < 0.6
    assert Path("results/latest/gate.json").read_bytes() == Path("gate.json").read_bytes()


def test_a_promise_on_the_mean_is_another_promise(cli, ran, gate):
    ended = ran(*"gate fit fit.csv -l fit.csv -m cheap --promise mean -o mean.json".split())
    assert "The promise on the mean" in ended.out
    assert "needs 9 answers with an unsupported label" in " ".join(ended.out.split())
    assert "are missed on average" in " ".join(ended.out.split())
    first, other = read_gate(Path("gate.json")), read_gate(Path("mean.json"))
    assert (first.promise, other.promise) == ("confidence", "mean")
    assert other.threshold < first.threshold  # it says less, and so it flags less
    assert "of them on average" in " ".join(cli("gate", "check", "fit.csv", "mean.json").out.split())


def test_a_gate_of_before_there_was_another_promise_is_read(gate):
    made = json.loads(Path("gate.json").read_text())
    del made["promise"]
    Path("gate.json").write_text(json.dumps(made))
    assert read_gate(Path("gate.json")).promise == "confidence"


def test_a_release_passes_or_fails_by_what_is_unsupported(cli, ran, gate):
    table("good.csv", 400, 0.1, 2, level=False)
    table("bad.csv", 400, 0.5, 3, level=False)
    good = ran("gate", "check", "good.csv", "gate.json", "--junit", "g.xml", "--markdown", "pr.md")
    assert "PASSED: shown not to exceed the 20 % " in good.out
    suite = ElementTree.parse("g.xml").getroot()
    assert (suite.get("failures"), suite.get("tests")) == ("0", "4")
    assert Path("pr.md").read_text().startswith("PASSED: ")
    bad = cli("gate", "check", "bad.csv", "gate.json", "--junit", "g.xml")
    assert bad.code == 1
    assert "FAILED: shown to exceed the 20 % that the gate allows: estimated " in " ".join(bad.out.split())
    suite = ElementTree.parse("g.xml").getroot()
    assert suite.get("failures") == "1"
    flagged = load_table(Path("results/latest/gate-check.json")).records[0]["flagged"]
    assert suite.findtext("system-out").endswith(f"; and {round(400 * flagged) - 50} more")  # 50 are listed
    (record,) = load_table(Path("results/latest/gate-check.json")).records
    assert record["unsupported_low"] < 0.5 < record["unsupported_high"]
    ran("gate", "check", "bad.csv", "gate.json", "--max-unsupported", "0.7")


def test_a_release_of_which_little_is_known_is_neither_passed_nor_failed(cli, gate):
    table("few.csv", 24, 0.35, 11, level=False)
    ended = cli("gate", "check", "few.csv", "gate.json", "--junit", "g.xml", "--markdown", "pr.md")
    (record,) = load_table(Path("results/latest/gate-check.json")).records
    assert record["unsupported_low"] <= 0.2 < record["unsupported"] < record["unsupported_high"]
    assert (ended.code, record["passed"], record["shown_within"]) == (0, True, False)
    text = Path("pr.md").read_text()
    assert text.startswith("UNDECIDED, which is not a failure: ")
    assert f"estimated {100 * record['unsupported']:.1f} % unsupported ({100 * record['unsupported_low']:.1f} " in text
    assert text.partition("\n")[0] in " ".join(ended.out.split())
    assert "PASSED" not in ended.out + text + Path("g.xml").read_text()
    assert ElementTree.parse("g.xml").getroot().get("failures") == "0"
    assert "undecided" in Path("results/latest/report.html").read_text()


def test_a_gate_reads_the_texts_of_sources_from_a_file(ran, answers):
    bare, texts = [], []
    for line in Path("answers.jsonl").read_text().splitlines():
        answer = json.loads(line)
        texts += [{"answer": answer["id"], "index": place, **cited} for place, cited in enumerate(answer["passages"])]
        bare.append({**answer, "passages": [{"text": ""}, {"text": ""}]})
    Path("bare.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in bare))
    Path("texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    terms = "-m overlap --max-missed 0.5 --max-flagged 0.9 -o".split()
    ran("gate", "fit", "answers.jsonl", "-l", "labels.csv", *terms, "whole.json")
    ran("gate", "fit", "bare.jsonl", "--sources", "texts.jsonl", "-l", "labels.csv", *terms, "gate.json")
    whole, fitted = (json.loads(Path(name).read_text()) for name in ("whole.json", "gate.json"))
    assert (whole["threshold"], whole["bound"]) == (fitted["threshold"], fitted["bound"])
    ran("gate", "check", "bare.jsonl", "gate.json", "--sources", "texts.jsonl", "--max-unsupported", "0.9")
    (record,) = load_table(Path("results/latest/gate-check.json")).records
    assert record["citations"] == 120
    for words in (["answers.jsonl"], ["bare.jsonl", "--sources", "texts.jsonl"]):
        ran("estimate", *words, "-l", "labels.csv", "-m", "overlap", "--results", words[0][:-6])
    first, other = (load_table(Path(name, "latest", "estimate.json")).records for name in ("answers", "bare"))
    assert [row["low"] for row in first] == [row["low"] for row in other]


def test_metrics_that_are_not_named_are_scored_until_one_will_do(ran, answers):
    words = "gate fit answers.jsonl -l labels.csv --max-missed 0.5 --max-flagged 0.9 -o gate.json".split()
    ended = ran(*words)
    assert "minilm-bertscore: 0 of" not in ended.err
    assert "support-mini, minilm-bertscore: overlap keeps the promise" in " ".join(ended.out.split())
    assert json.loads(Path("gate.json").read_text())["metric"] == "overlap"
    assert [row["metric"] for row in load_table(Path("results/latest/gate-fit.json")).records] == ["overlap"]
    assert "shared by 3 metrics" in " ".join(ended.out.split())


def test_a_few_citations_that_are_all_alike_show_little(gate):
    for share, answers in ((0, 1), (1, 1), (0, 3), (1, 3)):
        table("few.csv", 4 * answers, share, 2, level=False)
        outcome = check(Path("few.csv"), Path("gate.json"))
        _, low, high = outcome.unsupported
        assert (outcome.flagged[0], outcome.passed) == (share, not share)
        # At 0 of n one-sided bounds at .95 are never below 1 - .05 ** (1 / n): 22 % of 12, if all are independent.
        assert high - low > 0.5 * (1 - 0.05 ** (1 / (4 * answers)))


def test_drift_warns_and_fails_where_it_is_asked_to(cli, ran, gate):
    rows = table("other.csv", 400, 0.1, 2, level=False)
    longer = [[*row[:2], f"{row[2]} {'and so on ' * 9}", *row[3:]] for row in rows]
    Path("other.csv").write_text(csv_text([["id", "answer", "statement", "passage", "cheap"], *longer]))
    ended = ran("gate", "check", "other.csv", "gate.json")
    assert "Drift: words of the statement" in ended.err
    assert cli("gate", "check", "other.csv", "gate.json", "--fail-on-drift").code == 1


def test_a_gate_that_is_not_good_enough_says_what_would_tell(cli, recorded):
    rows = table("fit.csv", 300, 0.3, 1)
    few = [(row[0], row[5]) for row in random.Random(0).sample(rows, 50)]
    Path("labels.csv").write_text(csv_text([("id", "level"), *few]))
    ended = cli("gate", "fit", "fit.csv", "-l", "labels.csv", "-m", "cheap", "-o", "gate.json")
    assert ended.code == 1
    assert "No gate was written" in ended.out.partition("Not good enough with these labels: ")[2]
    assert not Path("gate.json").exists()
    more = read_table(Path("results/latest/label-next.csv")).rows
    assert (len(more), sum(row.text("level") == "" for row in more)) == (90, 40)
    told = [(row.text("id"), row.text("level"), float(row.text("probability"))) for row in more[::6]]
    recorded.held("decisions-next", {"drawn": told})
    # Beside labels of unequal probabilities nothing can be drawn, and beside those of all citations nothing is left.
    uneven = [("id", "level", "probability"), *((*row, 0.4 + n % 2 / 10) for n, row in enumerate(few))]
    Path("labels.csv").write_text(csv_text(uneven))
    table("all.csv", 40, 0.3, 1)
    for name, labels in ("fit.csv", "labels.csv"), ("all.csv", "all.csv"):
        ended = cli("gate", "fit", name, "-l", labels, "-m", "cheap", "-o", "gate.json")
        assert (ended.code, "to label next" in ended.err) == (1, name == "fit.csv")
        assert not Path("results/latest/label-next.csv").exists()


def test_a_gate_that_was_changed_is_refused(refused, gate):
    made, changed = json.loads(Path("gate.json").read_text()), "was changed after fitting"
    changes = {changed: {"threshold": 0.9}, "schema is 'x'": {"schema": "x"}, "alpha": {"alpha": "high"}}
    for said, change in (*changes.items(), (changed, {"promise": "mean"})):
        Path("gate.json").write_text(json.dumps(made | change))
        assert said in refused("gate", "check", "fit.csv", "gate.json")


def test_junit_holds_hostile_ids(cli, gate):
    rows = [[f'<c{n}>"&\x1b[31m', "a", "so it is", "source", 0.1] for n in range(8)]
    lines = [dict(zip(("id", "answer", "statement", "passage", "cheap"), row, strict=True)) for row in rows]
    Path("x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli("gate", "check", "x.jsonl", "gate.json", "--junit", "g.xml").code == 1
    assert "<c0>" in "".join(ElementTree.parse("g.xml").getroot().itertext())


@pytest.mark.parametrize("pipeline", ["alce", "aliice"])
def test_what_a_pipeline_asks_is_drawn_and_estimated_as_it_is_said(ran, pipeline):
    with open("answers.jsonl", "w") as file:
        for number in range(40):
            text = f"Town {number} has a mill [1], and it has a bridge [2][3]. It rains."
            passages = [{"text": f"Town {number} has a mill."}, {"text": "A bridge."}, {"text": f"Town {number % 3}."}]
            file.write(json.dumps({"id": f"a{number}", "text": text, "passages": passages}) + "\n")
    ended = ran("label", "answers.jsonl", "-n", "60", "--pipeline", pipeline, "-o", "to_label.csv")
    assert "questions to judge" in ended.out
    ids = [row.text("id") for row in read_table(Path("to_label.csv")).rows]
    chance = random.Random(1)
    fill("to_label.csv", {own: chance.choice(("full", "none")) for own in ids})
    Path("filled.csv").replace("to_label.csv")
    typed = shlex.split(ended.out.partition("then metaeval ")[2])
    assert typed[-2:] == ["--pipeline", pipeline]
    ended = ran(*typed)
    assert f"{'ALCE' if pipeline == 'alce' else 'ALiiCE'} precision" in ended.out
    assert "claims drawn" in " ".join(ended.out.split())
    records = load_table(Path("results/latest/estimate.json")).records
    assert [one["measure"] for one in records] == [f"{pipeline}-recall", f"{pipeline}-precision"]


def test_a_spreadsheet_of_citations_has_its_labels_in_a_column_of_its_own(ran, refused, cli):
    rows = [(n, f"claim {n}", f"claim {n}" if n % 2 else "Cats sleep.", "yes" if n % 2 else "no") for n in range(80)]
    Path("sheet.csv").write_text(csv_text([("No.", "Statement", "Source", "Opinion"), *rows]))
    fit = ["gate", "fit", "sheet.csv", "-m", "overlap", "-o", "gate.json"]
    assert "If a column of sheet has them, add --map level=COLUMN" in refused(*fit)
    assert "gate check FILE gate.json\n" in ran(*fit, "--map", "level=Opinion").out, "a release has no labels"
    Path("named.csv").write_text(csv_text([("No.", "Statement", "Source", "Human verdict"), *rows]))
    items = items_of(Path("named.csv"))
    assert labels_of(None, items).levels == labels_of(Path("named.csv"), items).levels
