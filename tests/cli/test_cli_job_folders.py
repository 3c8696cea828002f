"""No job writes over another: of every command that writes a job, each option that its files depend on."""

import hashlib
import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from metaeval.report.result import SCHEMA
from metaeval.runs import job
from tests.cli.samples import RIVERS, every_command, write_lines, write_rated_answers, write_towns

CITED = "-s interval.resamples=20"
QUICK = f"{CITED} -s comparison.permutations=10 -q"
TEN = "-d jsonl --data ten.jsonl"
PAIR = f"overlap rouge {TEN} {QUICK}"
RUN = f"-m overlap,rouge -p classification {TEN} {QUICK}"
ANSWERS = f"towns.jsonl -l labels.csv -m overlap {QUICK}"

WRITING = {
    "run": (
        f"run {RUN}",
        [
            *("-s comparison.alpha=0.2", "-u citation", "-s comparison.family=table", "-s interval.level=0.9"),
            *("-s controls=false", "-s aggregate=mean -u citation"),
        ],
    ),
    "evaluate": (
        f"evaluate scores.jsonl {QUICK}",
        ["-p retrieval", "-s interval.seed=3", "--by length", "--by position"],
    ),
    "compare": (f"compare {PAIR} -p classification", ["-s margin=0.1", "--by length", "--by position", "--agreement"]),
    "plan": (f"plan {PAIR}", ["--difference 2", "--difference 9", "--measure spearman", "-p retrieval"]),
    "thresholds": (
        f"thresholds overlap {TEN} {QUICK} -u citation -s controls=false",
        ["-s protocol_options.decision.folds=3"],
    ),
    "thresholds --learn": (
        f"thresholds overlap --learn {TEN} {QUICK}",
        ["--target partial", "-s objective=balanced-accuracy", "-s folds=3", "-u chunk"],
    ),
    "multiverse": (f"multiverse {RUN} -a pool=own -a unit=chunk", ["-a chunk.size=60", "--measure fs_ps"]),
    "run --suite": (f"run --suite {RUN}", ["-s comparison.alpha=0.2"]),
    "estimate": (f"estimate {ANSWERS}", ["--estimand process", "-s assume_sample=true", "-s interval.level=0.8"]),
    "gate fit": (
        f"gate fit {ANSWERS} -o gate.json --max-missed 0.5",
        [
            *("--max-missed 0.6", "--max-flagged 0.4", "--max-unsupported 0.3"),
            *("--alpha 0.1", "--promise mean", "--target full"),
        ],
    ),
    "gate check": (f"gate check towns.jsonl fitted.json {QUICK}", ["--max-unsupported 0.9"]),
    "cite alce": (
        f"cite alce answers.jsonl --nli overlap {CITED} -q",
        [
            *("--threshold 0.9", "-s premise=chunks", "--profile released"),
            *("-s units=list", "-s splitter=rules", "--measures length"),
        ],
    ),
    "cite support": (
        f"cite support answers.jsonl --nli overlap --partial 0.2 {CITED} -q",
        ["--threshold 0.9", "--partial 0.1"],
    ),
    "cite aliice": (f"cite aliice answers.jsonl --nli overlap {CITED} -q", ["--profile released", "--threshold 0.9"]),
    "cite agreement": (f"cite agreement readers.csv --labels level=r1,r2,r3 {CITED}", ["-s interval.level=0.8"]),
    "cite tables": (
        f"cite tables ASQA=answers.jsonl -c aliice --nli overlap --parser small {CITED} -q",
        ["-s threshold=0.9", "-s interval.level=0.8"],
    ),
    "cite tables-scifi": (
        f"cite tables scifi samples.jsonl --nli overlap {CITED} -q",
        ["--threshold 0.9", "--table 1", "-s interval.level=0.8"],
    ),
    "cite scifi": (f"cite scifi samples.jsonl --nli overlap {CITED} -q", ["--threshold 0.9", "-s group=joint"]),
    "cite meta": (
        f"cite meta rated.jsonl --nli overlap --pipelines alce {QUICK}",
        ["--threshold 0.9", "--scenario cited"],
    ),
}
"""Commands that write a job: what is typed first, and then behind it, each time to another folder."""

ASKING = {"cite generate", "cite citeeval", "cite improve", "cite refit", "cite rewrite"}
"""Pipelines that ask a chat model: they open their jobs as the other pipelines do."""

OTHERS = {
    *("pairs", "score", "cite formats", "cite convert", "results cases", "label", "view"),
    *("data list", "data show", "data fetch", "data verify", "data convert", "data validate"),
    *("metrics list", "metrics show", "metrics verify"),
    *(f"results {name}" for name in ("figures", "list", "show", "export", "rm", "rerun")),
}
"""Commands that write no job."""


def test_every_command_is_walked_or_writes_no_job():
    assert every_command().keys() == {name.partition(" --")[0] for name in WRITING} | ASKING | OTHERS


@pytest.fixture
def inputs(ran, tmp_path, ten_documents):
    """Files that the commands read: a small corpus, answers, labels of some of their citations, scores, a gate."""
    kinds = ("full", "partial", "none")
    write_towns(tmp_path, [(kinds[number % 3], kinds[2 * number % 3]) for number in range(40)])
    Path("answers.jsonl").rename("towns.jsonl")
    write_rated_answers(tmp_path)
    write_lines(tmp_path / "samples.jsonl", [RIVERS | {"output": "Dams store water [1]. Barges carry wood [2]."}])
    Path("readers.csv").write_text("id,r1,r2,r3\n1,full,full,none\n2,none,none,none\n3,full,partial,full\n")
    shutil.copy(ten_documents, "ten.jsonl")
    ran("score", "-m", "overlap", "-o", ".", "-q")
    Path("overlap.jsonl").rename("scores.jsonl")
    Path("overlap.manifest.json").unlink(missing_ok=True)


def files_of(folder):
    """Every file of every job, with its bytes."""
    jobs = [path.parent for path in Path(folder).rglob("manifest.json") if not path.parent.is_symlink()]
    return {path: path.read_bytes() for job in jobs for path in job.iterdir() if path.is_file()}


def with_change(command, change):
    """The command with further options; an option that it has already is replaced."""
    if change[0].startswith("--") and change[0] in command:
        at = command.index(change[0])
        command = [*command[:at], *command[at + 2 :]]
    return [*command, *change]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.usefixtures("quick_plan")
def test_an_option_that_changes_what_is_written_changes_the_folder(cli, ran, inputs, name):
    first, changes = WRITING[name]
    if name == "gate check":
        ran(*shlex.split(f"gate fit {ANSWERS} -o fitted.json --max-missed 0.9 --max-flagged 0.9 --promise mean"))
    assert cli(*shlex.split(first)).code in (0, 1)
    for change in changes:
        before = files_of("results")
        jobs = {path.parent for path in before}
        ended = cli(*with_change(shlex.split(first), shlex.split(change)))
        assert ended.code in (0, 1), (change, ended.err)
        after = files_of("results")
        assert {path for path in before if before[path] != after[path]} == set(), change
        new = {path.parent for path in after} - jobs
        assert new, f"{change}: no folder of its own"
        latest = Path("results/latest").resolve()
        opened = [job for job in new if latest in (job.resolve(), job.resolve().parent)]
        manifests = [job / "manifest.json" for job in opened]
        assert manifests, "the latest job is another one"
        for path in manifests:
            made = json.loads(path.read_text())["analysis"]
            assert made["name"] == name.partition(" --")[0]
            assert (made["options"], made["settings"]) != ({}, {})

    jobs = {path.parent for path in files_of("results")}
    assert cli(*shlex.split(first)).code in (0, 1)
    assert {path.parent for path in files_of("results")} == jobs, "the same command writes the same folder"


@pytest.fixture
def two_jobs(ran, small):
    """Two jobs of one table each; the folder of the second."""
    for protocol in ("retrieval", "correlation"):
        ran("run", "-m", "overlap", "-p", protocol, *small, "-q")
    return Path("results/latest").resolve()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *((f".{name}.unfinished", 0) for name in ("pairs.jsonl.abc", "manifest.json.k3_x9", "correlation.tex.a1b2")),
        *((name, 2) for name in ("notes.txt", "correlation.json", ".pairs.jsonl.mine", ".a.txt.b.unfinished", "link")),
    ],
)
def test_a_job_is_deleted_beside_what_a_killed_run_left_and_not_beside_a_file_of_the_users(cli, two_jobs, name, code):
    if name == "link":
        (two_jobs / name).symlink_to(two_jobs.parent)  # to a folder
    else:
        (two_jobs / name).write_text("")
    ended = cli("results", "rm", two_jobs.name)
    latest = os.path.lexists("results/latest")
    assert (ended.code, two_jobs.exists(), latest, name in ended.err) == (code, *[code == 2] * 3)
    assert not code or {path.name for path in two_jobs.iterdir()} > {name, "manifest.json", "pairs.jsonl"}


@pytest.mark.parametrize("most", [0, 1, 2])
def test_where_a_file_cannot_be_deleted_the_sentence_says_what_is_left(refused, ran, two_jobs, monkeypatch, most):
    asked = []

    def unlink(path, *args, really=os.unlink, **more):
        asked.append(Path(path).name)
        if len(asked) > most:
            raise OSError(30, "Read-only file system", str(path))
        really(path, *args, **more)

    names = {path.name for path in two_jobs.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        said = refused("results", "rm", "latest")
    left = {path.name for path in two_jobs.iterdir()}
    assert left == names - {*asked[:most]} >= {"manifest.json"}
    assert f"{two_jobs.name}/{asked[most]}: Read-only file system. {len(left)} of {len(names)} files" in said
    _ = [ran("results", "rm", name) for name in (two_jobs.name, "latest")]
    assert (two_jobs.exists(), ", ...)" in said) == (False, len(left) > 3)


def test_jobs_are_listed_without_reading_their_files_and_one_is_shown_by_its_tables(ran, two_jobs, monkeypatch):
    hashed = []
    monkeypatch.setattr(job, "sha256_file", lambda path: hashed.append(path.name) or "0")
    (two_jobs / "pairs.jsonl").unlink()
    listed = ran("results", "list").out.splitlines()
    assert (hashed, [two_jobs.name in line for line in listed if "3, 1 gone" in line]) == ([], [True])
    gone, changed = ran("results", "show").err.splitlines()
    assert (hashed, "pairs" in gone, "correlation" in changed) == (["correlation.json"], True, True)


def test_a_job_of_another_schema_is_listed_and_deleted_and_says_what_to_type_where_it_is_read(refused, ran, two_jobs):
    found = [two_jobs / name for name in ("correlation.json", "manifest.json")]
    result, manifest = (json.loads(path.read_text()) for path in found)
    assert (result.pop("schema"), manifest.pop("result_schema")) == (SCHEMA, SCHEMA)
    found[0].write_text(json.dumps({"schema": "metaeval-result/2", **result}))
    manifest["files"]["correlation.json"] = hashlib.sha256(found[0].read_bytes()).hexdigest()
    found[1].write_text(json.dumps(manifest))
    job = two_jobs.name
    for action, named in [("show", job), ("show", found[0]), ("export", job), ("figures", job)]:
        said = f"correlation.json: schema is 'metaeval-result/2', and this version reads {SCHEMA!r}: type the command "
        assert said in refused("results", action, named)
    for command in [("view", job, "-o", "page.html"), ("results", "cases", job), ("results", "rerun", job)]:
        assert f"{found[1].name}: schema is missing, and this version reads " in refused(*command)
    assert job in ran("results", "list").out
    ran("results", "rm", job)
    assert not two_jobs.exists()
