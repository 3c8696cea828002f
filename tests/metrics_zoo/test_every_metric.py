"""What every registered metric keeps to, whatever it computes."""

import importlib.util
import sys
from pathlib import Path

import pytest

from metaeval import registry
from metaeval.conformance.metric import CHECKS, MetricSubject, declares_itself
from metaeval.conformance.sentences import NotCheckedError

WITHOUT_TEXTS = {"ensemble": "combines other metrics' scores"}
SERVED = f"{sys.executable} -m metaeval metrics serve overlap"
HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """No reply of an earlier run is served."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def options(request, load_module, tmp_path_factory):
    """Options by metric: tiny models for the published ones, a judge on loopback that counts shared words."""
    found = {}
    if importlib.util.find_spec("torch"):
        tiny = request.getfixturevalue("tiny")
        found |= load_module(HERE / "stand_ins.py").stand_ins(tiny, tmp_path_factory.mktemp("stand-ins"))
    fake = load_module(HERE.parent / "llm" / "server.py")
    with fake.ChatServer(answer=fake.counting_judge) as server:
        yield {
            **found,
            "worker": {"command": SERVED},
            "llm-discrete": {"base_url": server.url},
            "llm-continuous": {"base_url": server.url},
        }


@pytest.fixture(scope="module", params=registry.names("metric"))
def subject(request, options):
    name = request.param
    own = options.get(name, {})
    return MetricSubject(registry.find("metric", name), own, name, untrained="folder" in own and name != "cosine")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_metric_keeps_the_contract(subject, check):
    if subject.name in WITHOUT_TEXTS and check is not declares_itself:
        pytest.skip(f"{subject.name} {WITHOUT_TEXTS[subject.name]}: it has tests of its own")
    try:
        check(subject)
    except NotCheckedError as why:
        pytest.skip(str(why))
