"""`metaeval cite improve` as it is typed: judged, edited and judged again, with faults, killed, replayed, refused."""

import json
import re

import pytest

from metaeval.report.table_files import load_table
from tests.cli.samples import lines_of, write_lines

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-s", "interval.resamples=30", "-s", "interval.fewest=2", "-s", "chat.backoff=0.01", "-s", "chat.retries=20")
PASSAGES = [{"text": "Rain fell."}, {"text": "Snow fell."}, {"text": "Fog rose."}]


@pytest.fixture
def items(answers_of_systems):
    """Two statements with citations each: the judge below wants [2] in the first alone, and nothing else."""
    text = "On day {group} of {system}, rain [1] and snow [2] fell [3]. Fog rose."
    made = answers_of_systems(2, 4, "Weather {group}?", PASSAGES, text)
    # The second system cites in its last statement too.
    return [*made[:4], *(item | {"text": item["text"].removesuffix(".") + " [3]."} for item in made[4:])]


def statements_of(prompt):
    """The numbers and citations of the statements that a prompt shows."""
    shown = prompt.rpartition("</passages>")[2]
    found = re.findall(r'<statement id="(\d+)"(?: cites="([\d ]*)")?>', shown)
    return 'cites="' in shown, [(int(number), [int(one) for one in cited.split()]) for number, cited in found]


def judge(body):
    """One deletion of whatever is not 2 in the first statement, at a time; 5 stars less one for each that is wrong."""
    editing, found = statements_of(body["messages"][0]["content"])
    if not editing:
        return json.dumps({"statements": [{"id": n, "thinking": "", "context": "retrieval"} for n, _ in found]})
    entries = []
    for number, cited in found:
        wrong = [one for one in cited if one != 2] if number == 1 else []
        edits = [{"action": "delete", "citation": one, "reason": "misleading"} for one in wrong[:1]]
        if cited:
            entries.append({"id": number, "thinking": "", "edits": edits, "rating": 5 - len(wrong)})
    return json.dumps({"statements": entries})


@pytest.fixture
def answers(items, tmp_path):
    return write_lines(tmp_path / "answers.jsonl", items)


def records(folder, name):
    return json.loads((folder / f"{name}.json").read_text())["records"]


def values(folder):
    return {(one["system"], one["round"], one["measure"]): one for one in records(folder, "improving")}


def counts(folder):
    return {(one["system"], one["round"], one["count"]): one["value"] for one in records(folder, "improving-edits")}


def test_round_after_round_until_nothing_changes(asked, ran, contents, fake, answers, tmp_path, recorded):
    words = ("cite", "improve", answers, "-o", "one.jsonl", "--rounds", "5", *QUICK)
    _, server = asked(judge, *words, faults=0.3, kinds=fake.QUICK_FAULTS, seed=3)
    # Contexts of eight answers once, since no edit changes a statement's words; their citations as they were, with
    # [2][3], and with [2]: nothing is asked twice.
    assert sorted(server.completed.values()) == [1] * (8 + 3 * 8)
    ran("results", "figures")
    assert len(list(tmp_path.glob("results/figures/*/figure-rounds.svg"))) == 1
    folder = tmp_path / "results/latest"
    assert len(contents(folder)) == 4  # two tables, their page, and rows
    written = lines_of(tmp_path / "one.jsonl")
    assert [one["text"] for one in written][::4] == [
        "On day 0 of 0, rain and snow [2] fell. Fog rose.",
        "On day 0 of 1, rain and snow [2] fell. Fog rose [3].",
    ]
    assert (written[0]["id"], written[0]["group"], written[0]["system"]) == ("0-0", "q0", "system 0 improved by tiny")
    found = values(folder)
    # System 1: stars 3, 4, 5 of the first statement are 0.5, 0.75, 1, the second has 1: means 0.75, 0.875, 1. System 0
    # lacks a citation in the second: 0.25, 0.375, 0.5. All answers of a system are alike: no change in any resample.
    ratings = [found["system 1", turn, "rating"] for turn in (0, 1, 2)]
    assert [one["value"] for one in ratings] == [0.75, 0.875, 1.0]
    assert [one["change_value"] for one in ratings] == [0, 0.125, 0.25]
    assert (ratings[2]["change_low"], ratings[2]["change_high"], ratings[2]["pairs"]) == (0.25, 0.25, 4)
    assert [found["system 0", turn, "rating"]["value"] for turn in (0, 1, 2)] == [0.25, 0.375, 0.5]
    # Edit distance of the first statement with the released coefficients, one deletion of three, of two, and none:
    # (2 x 1.00298631 + 0.06935712) / 3 - 0.01090173, (1.00298631 + 0.06935712) / 2 - 0.01090173, 1; the second has 1.
    first = [(2 * 1.00298631 + 0.06935712) / 3 - 0.01090173, (1.00298631 + 0.06935712) / 2 - 0.01090173, 1.0]
    for turn, worth in enumerate(first):
        assert found["system 1", turn, "edits"]["value"] == pytest.approx((worth + 1) / 2, abs=1e-7)
    assert [found["system 1", turn, "auto"]["citations"] for turn in (0, 1, 2)] == [16, 12, 8]
    lines = [line for block in load_table(folder / "improving.json").blocks[2:] for line in block.lines]
    assert [[line.name, *(cell.number for cell in line.cells[1:])] for line in lines] == [
        ["before", "0.750", "0.840", "16", "4 of 4"],
        *(["round 1", "0.875", "0.763", "12", "4 of 4"], ["round 2", "1.000", "1.000", "8", "4 of 4"]),
        *(["round 1", "0.125", "-0.078", "-4", "4"], ["round 2", "0.250", "0.160", "-8", "4"]),
    ]
    lines = {line.name: line.cells for line in load_table(folder / "improving-edits.json").blocks[1].lines}
    assert [cell.number for cell in lines["delete: misleading"]] == ["4", "4", "0"]
    done = counts(folder)
    assert [done["system 1", turn, "delete: misleading"] for turn in ("round 1", "round 2", "not done")] == [4, 4, 0]
    assert done["system 0", "round 1", "statements unchanged"] == 4
    assert done["", "all", "tokens in"] == 32 * 100  # the fake server counts 100 for each reply
    changes = lines_of(folder / "changes.jsonl")
    assert (len(changes), changes[0]["edits"], changes[8]["edits"]) == (16, "1: DELETE_1:1", "1: DELETE_1:3")
    assert changes[8]["before"] == changes[0]["after"] == "On day 0 of 0, rain and snow [2] fell [3]. Fog rose."
    recorded.held("cited-improve-rounds", recorded.sheets(folder))


def test_a_judge_that_goes_in_circles_is_stopped(asked, answers, tmp_path, items):
    def fickle(body):
        """Wants [1] out where it is, and in where it is not."""
        editing, found = statements_of(body["messages"][0]["content"])
        if not editing:
            return judge(body)
        entries = []
        for number, cited in found:
            way = ("delete", "redundant") if 1 in cited else ("add", "evidence")
            edits = [{"action": way[0], "citation": 1, "reason": way[1]}] if number == 1 else []
            if cited:
                entries.append({"id": number, "thinking": "", "edits": edits, "rating": 4})
        return json.dumps({"statements": entries})

    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({**items[0], "text": "Rain fell [2][1]."}) + "\n")
    _, server = asked(fickle, "cite", "improve", path, "-o", "a.jsonl", "--rounds", "9", *QUICK)
    assert server.completed.total() == 3  # contexts once, citations before and after the first edit
    assert lines_of(tmp_path / "a.jsonl")[0]["text"] == "Rain fell [2]."
    (left,) = [
        one["value"]
        for one in records(tmp_path / "results/latest", "improving-edits")
        if one["count"].startswith("answers left")
    ]
    assert left == 1


def test_replies_that_say_nothing_leave_the_answers_as_they_were(asked, answers, tmp_path, items, recorded):
    def half(body):
        """No use for system 0; of system 1 every edit is impossible, and the second statement is skipped."""
        editing, found = statements_of(body["messages"][0]["content"])
        if "of 0," in body["messages"][0]["content"]:
            return "I like it."
        if not editing:
            return judge(body)
        edits = [
            {"action": "delete", "citation": 9, "reason": "misleading"},
            {"action": "add", "citation": 1, "reason": "evidence"},
            {"action": "add", "citation": 7, "reason": "evidence"},
            {"action": "add", "citation": 0, "reason": "evidence"},
        ]
        return json.dumps({"statements": [{"id": found[0][0], "thinking": "", "edits": edits, "rating": 3}]})

    ended, server = asked(half, "cite", "improve", answers, "-o", "a.jsonl", "--rounds", "3", *QUICK)
    assert server.completed.total() == 16  # nothing changed: one judgement is all
    assert [one["text"] for one in lines_of(tmp_path / "a.jsonl")] == [one["text"] for one in items]
    done = counts(tmp_path / "results/latest")
    assert done["system 0", "not done", "statements not judged"] == 4
    for problem in ("not cited", "cited already", "no such passage", "own knowledge"):
        assert done["system 1", "not done", f"passed over: {problem}"] == 4
    assert done["system 1", "not done", "statements not judged"] == 4
    found = values(tmp_path / "results/latest")
    rating = found["system 0", 0, "rating"]
    # One statement missing, from 0 to 1; the other without a citation 0, or left out, if its context is missing.
    assert (rating["value"], rating["worst"], rating["best"]) == (None, 0.0, 1.0)
    # Of both systems, which have four answers each.
    ends = [sum(found[f"system {one}", 0, "auto"][end] for one in (0, 1)) / 2 for end in ("worst", "best")]
    assert f"over all answers is from {ends[0]:.3f} to {ends[1]:.3f} " in " ".join(ended.out.split())
    recorded.held("cited-improve-nothing", recorded.sheets(tmp_path / "results/latest"))


def test_a_judge_of_whom_nothing_can_be_read_improves_nothing(asked, fake, answers, tmp_path):
    def useless(body):
        """Contexts can be read; what is said of citations is prose, cut at the limit for the first system."""
        prompt = body["messages"][0]["content"]
        if not statements_of(prompt)[0]:
            return judge(body)
        return fake.completion("I like\nit.", finish_reason="length" if "of 0," in prompt else "stop")

    words = ("cite", "improve", answers, "-o", "a.jsonl", "-s", "chat.max_tokens=300", *QUICK)
    ended, _ = asked(useless, *words, code=2)
    for part in ("None of 8 answers", "4 cut at the token limit, 4 malformed", "'I like it.'", "chat.max_tokens=600"):
        assert part in ended.err
    assert not (tmp_path / "a.jsonl").exists()
    assert not (tmp_path / "results").exists()


def test_the_released_profile_reads_and_edits_by_its_own_rules(asked, tmp_path, items):
    # Released: a plain mark is all that is read, so that the list is text; numbers end at 10.
    path = tmp_path / "one.jsonl"
    text = "Rain fell on all of the land that day [1] [2, 3]."
    path.write_text(json.dumps({**items[0], "text": text}) + "\n")
    asked(judge, "cite", "improve", path, "-o", "a.jsonl", "-s", "profile=released", *QUICK)
    assert lines_of(tmp_path / "a.jsonl")[0]["text"] == "Rain fell on all of the land that day [2, 3]."
    settings = json.loads((tmp_path / "results/latest/improving.json").read_text())["settings"]
    assert settings["profile"] == "released"
