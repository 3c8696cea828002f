"""What all rooms share: property tests that draw the same examples, the user's own settings taken away, and loaders.

HYPOTHESIS_PROFILE=explore draws many new examples. CI=true fails on a skip that allowed_skips.txt does not list.
"""

import atexit
import functools
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import socket
import sqlite3
import sys
from collections import Counter
from contextlib import ExitStack
from fnmatch import fnmatch
from http.server import ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

HERE = Path(__file__).parent
SHARED = HERE.parents[1] / "shared"
MINI = HERE.parent / "metaeval" / "corpus" / "loaders" / "mini.jsonl"
PUNKT = SHARED / "models" / "nltk_data"
OWN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

# What commands import that tests start as forks.
FORKED = (
    *("metaeval.cli.app", "metaeval.runs.evaluate", "metaeval.runs.scoring_worker"),
    *("metaeval.runs.job", "metaeval.analyses.panel"),
    *("metaeval.scoring.backends.minilm", "scipy.special"),
    *("openai", "aiohttp", "pyarrow.parquet", "pytest"),
)

# Large packages, which the first test that uses them imports.
LATER = ("torch", "transformers", "ray", "spacy", "matplotlib")

settings.register_profile("fixed", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


# One thread a worker: the workers share the cores. Set before anything imports numpy or torch.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# What does not change while tests run is asked once; nor does a test pull the plug that fsync is for.
importlib.metadata.version = functools.cache(importlib.metadata.version)
os.fsync = lambda file: None

# Modules and collected tests live to the end: the garbage collector need not go through them again and again.
gc.disable()


class _Later:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute == "_mock_name" or (attribute.startswith("__") and attribute != "__version__"):
            raise AttributeError(attribute)  # by these pytest looks for tests and fixtures
        return getattr(importlib.import_module(self._name), attribute)


def _importorskip(name, **given):
    """pytest's, but a large package is imported by the first test that uses it: to collect the tests needs none."""
    if name in LATER and importlib.util.find_spec(name):
        return _Later(name)
    return _importorskip_of_pytest(name, **given)


_importorskip_of_pytest, pytest.importorskip = pytest.importorskip, _importorskip


def pytest_configure(config):
    """A worker does not take its modules apart when all is said; what it starts has exit codes."""
    if hasattr(config, "workerinput"):
        atexit.register(os._exit, 0)


def pytest_collection_finish():
    """From here on garbage is made: much of it, and little of it in circles."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(items):
    """What takes long and mostly waits begins first: at the end one worker would wait for it alone."""
    items.sort(key=lambda item: item.path.stem not in ("test_signals", "test_cli_view"))


class _Rooms(LoadFileScheduling):
    """Each worker stays in a folder while that has files left: what its tests share is imported and made once."""

    def _assign_work_unit(self, node):
        done = [*self.assigned_work[node]]
        begun = {_room(file) for files in self.assigned_work.values() for file in files}
        waiting = Counter()
        for file, tests in self.workqueue.items():
            waiting[_room(file)] += len(tests) if done else 0  # the first file that a worker gets is the first of all
        own = _room(done[-1]) if done else None
        best = min(waiting, key=lambda room: (room != own, room in begun, -waiting[room]))
        self.workqueue.move_to_end(next(file for file in self.workqueue if _room(file) == best), last=False)
        super()._assign_work_unit(node)


def _room(file):
    """The folder in tests/ that a file lies in, at whatever depth; "" of a file in tests/ itself."""
    return file.split("/")[1] if file.count("/") > 1 else ""


def pytest_xdist_make_scheduler(config, log):
    return _Rooms(config, log) if config.option.dist == "loadfile" else None


def allowed_skips():
    """Patterns of test files and words of reasons that may be skipped here: the second section only without data."""
    section, found = "", []
    for line in (HERE / "allowed_skips.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line
        elif line and not line.startswith("#") and (section == "[always]" or not SHARED.is_dir()):
            found.append(line.split(maxsplit=1))
    return found


def pytest_sessionfinish(session):
    """On CI, fail on a skip that is not on the list. A worker leaves that to the process that sums up."""
    gc.freeze()
    if os.environ.get("CI") != "true" or hasattr(session.config, "workerinput"):
        return
    reporter, allowed = session.config.pluginmanager.get_plugin("terminalreporter"), allowed_skips()
    skipped = [(report.nodeid, report.longrepr[2]) for report in reporter.stats.get("skipped", ())]
    unlisted = [
        f"{test}: {reason}"
        for test, reason in skipped
        if not any(fnmatch(test.split("::")[0], file) and words in reason for file, words in allowed)
    ]
    if unlisted:
        reporter.write_line("\nskips that tests/allowed_skips.txt does not list:", red=True)
        for line in unlisted:
            reporter.write_line(f"  {line}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def load(path):
    """Load a module of the tests by its path: tests are no packages, and import one another in no other way."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOSTILE = load(HERE / "hostile.py")


def pytest_generate_tests(metafunc):
    """A test that asks for `nasty` is run with each hostile text."""
    if "nasty" in metafunc.fixturenames:
        metafunc.parametrize("nasty", HOSTILE.NAMES.values(), ids=HOSTILE.NAMES)


@pytest.fixture(scope="session")
def hostile():
    """The module tests/hostile.py."""
    return HOSTILE


@pytest.fixture(scope="session")
def recorded():
    """The module tests/recorded.py: `recorded.held(name, {...})` holds values against their record."""
    return load(HERE / "recorded.py")


@pytest.fixture(scope="session")
def load_module():
    """The function that loads a module of the tests by its path."""
    return load


@pytest.fixture(scope="module")
def serve_with():
    """Serve a class of request handlers on a free port of this machine until the module's tests end; the address."""
    with ExitStack() as running:

        def serve(handler):
            server = running.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            running.callback(thread.join)
            running.callback(server.shutdown)
            thread.start()
            return f"http://127.0.0.1:{server.server_port}"

        yield serve


@pytest.fixture(scope="session")
def start(load_module):
    """Start `metaeval ARGS...` in a process of its own; see tests/forks.py."""
    with load_module(HERE / "forks.py").Forks(*FORKED) as forks:
        yield forks.start


@pytest.fixture(scope="module")
def chromium():
    """The system's Chromium, headless. No longer than a module: while it runs, no other event loop can."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = started.chromium.launch(executable_path=path, args=flags, timeout=300_000)  # ms
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def fake(load_module):
    """The module tests/llm/server.py, whose every client here needs the extra 'llm'."""
    pytest.importorskip("openai", reason="needs the extra 'llm'")
    return load_module(HERE / "llm" / "server.py")


@pytest.fixture(scope="session")
def tiny_chat(load_module):
    """The module tests/llm/tiny_chat.py."""
    module = load_module(HERE / "llm" / "tiny_chat.py")
    if missing := module.missing():
        pytest.skip(f"needs {', '.join(missing)} (extras 'models' and 'serving')")
    return module


@pytest.fixture(scope="session")
def tiny(load_module, tmp_path_factory):
    """Our own tiny models: `tiny.folder(kind, **config)`; needs nothing but the extra 'models'."""
    for module in ("torch", "transformers"):
        pytest.importorskip(module, reason="tiny models need the extra 'models'")
    return load_module(HERE / "metrics_zoo" / "tiny_models.py").TinyModels(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def punkt_data(monkeypatch):
    """The one folder in which NLTK finds punkt_tab's English data: the published ones where they are beside the
    project, else tests/golden/nltk_data, by which punkt cuts the golden texts at the same places."""
    nltk = pytest.importorskip("nltk", reason="punkt needs the extra 'models'")
    folder = PUNKT if PUNKT.is_dir() else HERE / "golden" / "nltk_data"
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    return folder


@pytest.fixture(autouse=True, scope="module")
def not_the_users_cache(tmp_path_factory):
    """Nothing is read from the user's cache or left there: each model of a test would stay in its list of hashes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def imports_of_the_test(tmp_path_factory):
    """What a test imports from its own folder is forgotten with it, and where it looked: the next has other files."""
    last, path = next(reversed(sys.modules)), [*sys.path]
    yield
    sys.path[:] = path
    root = str(tmp_path_factory.getbasetemp())
    for name in list(takewhile(lambda name: name != last, reversed(sys.modules))):  # thousands were there before
        if str(getattr(sys.modules[name], "__file__", "")).startswith(root):
            del sys.modules[name]


@pytest.fixture
def own_environment(monkeypatch, tmp_path):
    """No key, no proxy, a cache of its own: nothing of the user's is read or written."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def no_network(monkeypatch):
    """A machine whose every attempt to connect is a failure of the test."""

    def refuse(self, address):
        raise AssertionError(f"connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="session")
def ten_documents(tmp_path_factory):
    """A corpus file with the first ten documents of the shipped corpus, and all that is judged on them."""
    rows = [json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines()]
    documents = [row["id"] for row in rows if row["type"] == "document"][:10]
    citations = [row for row in rows if row["type"] == "citation" and row["document"] in documents]
    kept = {*documents, *(row["statement"] for row in citations)}
    chosen = [row for row in rows if row["type"] == "corpus" or row["id"] in kept] + citations
    path = tmp_path_factory.mktemp("corpus") / "ten.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in chosen), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def store_of_mini(tmp_path_factory):
    """A store with the scores of three metrics on the shipped corpus, as a run leaves it."""
    import metaeval

    folder = tmp_path_factory.mktemp("mini")
    settings = {"interval": {"resamples": 0}, "controls": False}
    metaeval.run(metrics=["overlap", "rouge", "bm25"], protocols=["correlation"], results=str(folder), **settings)
    return folder / "scores.sqlite"


@pytest.fixture(scope="session")
def scored_folder(store_of_mini, tmp_path_factory):
    """Make a results folder that holds that store: for tests of what is made of scores, not of scoring."""

    def make(name):
        folder = tmp_path_factory.mktemp(name)
        shutil.copy(store_of_mini, folder)
        return folder

    return make


@pytest.fixture
def quick_plan(monkeypatch):
    """A plan is simulated with few samples: for tests of what is said of it, not of its digits."""
    monkeypatch.setattr("metaeval.analyses.comparing.sample_sizes.SAMPLES", 20)
    monkeypatch.setattr("protocols.simulation._TRIES", 8)


@pytest.fixture
def rows_stored():
    """Count the rows of a table in an SQLite file that another process writes; 0 before there is one."""

    def count(path, table):
        if not path.exists():
            return 0
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as store:
            try:
                return store.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
            except sqlite3.OperationalError:  # the table is not there yet
                return 0

    return count


@pytest.fixture
def citebench(tmp_path):
    """Write two files as CiteBench does, from {response: [(citations, three people's contexts, their ratings)]}.

    Responses whose names differ behind a # answer the same query.
    """

    def write(responses, passages, about=""):
        statements = [
            {
                "sample_idx": name,
                "query": f"What does {name.partition('#')[0]} say?",
                "passages": [{"id": number, **passage} for number, passage in enumerate(passages, start=1)],
                "prediction": "as cut",
                "prediction_sentences_and_citations": [
                    {"id": n, "sentence": f"{name} says {n}{about and ' '}{about}.", "citations": cited, "concat": ""}
                    for n, (cited, _, _) in enumerate(own, start=1)
                ],
            }
            for name, own in responses.items()
        ]
        people = {
            name: {
                "statements": {
                    str(n): {"citations": cited, "types": types, "ratings": list(ratings), "edits": [[]] * 3}
                    for n, (cited, types, ratings) in enumerate(own, start=1)
                }
            }
            for name, own in responses.items()
        }
        paths = tmp_path / "test.citeeval", tmp_path / "human.json"
        for path, content in zip(paths, (statements, people), strict=True):
            path.write_text(json.dumps(content), encoding="utf-8")
        return paths

    return write
