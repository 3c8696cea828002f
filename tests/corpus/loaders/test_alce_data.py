"""ASQA and ELI5 in a stub of ALCE's archive: fetched once, hash recorded and compared, questions counted."""

import hashlib
import io
import json
import tarfile
import zipfile
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.alce_data import ASQA, ELI5, questions_in
from metaeval.corpus.loading import load_dataset, locate, recorded, verify

QUESTIONS = [
    {"question": f"Who built bridge {number}?", "answer": "A Dane.", "docs": [{"title": "B", "text": "A Dane."}] * 3}
    for number in range(4)
]
ASQA_FILE, ELI5_FILE = "asqa_eval_gtr_top100.json", "eli5_eval_bm25_top100.json"


def archive(**files):
    """The bytes of a tar archive with these files in ALCE's folder."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"ALCE-data/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def zipped(name, content):
    """The bytes of a zip archive with this file in ALCE's folder."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(f"ALCE-data/{name}", content)
    return stream.getvalue()


STUB = archive(**{ASQA_FILE: json.dumps(QUESTIONS).encode(), ELI5_FILE: json.dumps(QUESTIONS[:3]).encode()})


@pytest.fixture(scope="module")
def server(serve_with, tmp_path_factory):
    """A folder that is served, and its address."""
    folder = tmp_path_factory.mktemp("origin")

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    return folder, serve_with(Handler)


@pytest.fixture
def origin(server, tmp_path, monkeypatch):
    """The stub as the origin; returns its path, and the two data sets that read it from its address."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    path = server[0] / "ALCE-data.tar"
    path.write_bytes(STUB)

    def of(dataset):
        (file,) = dataset.files["all"]
        return replace(dataset, files={"all": (replace(file, url=f"{server[1]}/ALCE-data.tar"),)})

    return path, of(ASQA), of(ELI5)


def test_the_archive_is_fetched_once_and_its_hash_recorded(origin):
    path, asqa, eli5 = origin
    (asqa_file,) = locate(asqa, "all", None).values()
    path.unlink()  # the second data set is in the same archive, which is in the cache by now
    (eli5_file,) = locate(eli5, "all", None).values()
    assert (questions_in(asqa_file), questions_in(eli5_file)) == (4, 3)
    assert recorded(asqa_file.with_name("ALCE-data.tar")) == hashlib.sha256(STUB).hexdigest()
    assert recorded(asqa_file) == hashlib.sha256(asqa_file.read_bytes()).hexdigest()
    assert [row.status for row in verify(asqa, None)] == ["ok"]
    # In the form of sha256sum, so that others can check it too.
    assert asqa_file.with_name(f"{ASQA_FILE}.sha256").read_text() == f"{recorded(asqa_file)}  {ASQA_FILE}\n"


def test_a_damaged_file_is_taken_again_from_the_same_archive_alone(origin):
    _, asqa, _ = origin
    (path,) = locate(asqa, "all", None).values()
    path.write_text("[]")
    assert [row.status for row in verify(asqa, None)] == ["differs"]
    locate(asqa, "all", None)
    assert questions_in(path) == 4
    path, asqa, _ = origin
    (kept,) = locate(asqa, "all", None).values()
    held = kept.with_name("ALCE-data.tar")
    held.write_bytes(b"cut")
    kept.unlink()
    path.write_bytes(archive(**{ASQA_FILE: b"[]"}))
    with pytest.raises(UserError, match="the first download had SHA-256 " + hashlib.sha256(STUB).hexdigest()):
        locate(asqa, "all", None)


def test_a_zip_archive_is_read_and_the_first_download_shows_hashes_that_can_be_pinned(origin, capsys):
    path, asqa, _ = origin
    path.write_bytes(zipped(ASQA_FILE, json.dumps(QUESTIONS)))
    (asqa_file,) = locate(asqa, "all", None).values()
    assert questions_in(asqa_file) == 4
    told = capsys.readouterr().err
    for file in (asqa_file, asqa_file.with_name("ALCE-data.tar")):
        assert f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" in told
    locate(asqa, "all", None)
    assert capsys.readouterr().err == ""


CUT = bytearray(zipped(ASQA_FILE, b"abc" * 9999))
CUT[90:110] = bytes(20)


@pytest.mark.parametrize(
    "content", [b"no tar", archive(other=b"[]"), zipped("other", b"[]"), bytes(CUT), bytes(CUT[:200])]
)
def test_an_archive_without_the_file_is_one_sentence(origin, content):
    path, asqa, _ = origin
    path.write_bytes(content)
    with pytest.raises(UserError, match="is not an archive with ALCE-data/asqa_eval_gtr_top100"):
        locate(asqa, "all", None)


def test_there_is_nothing_to_score_and_the_sentence_counts_the_questions(origin):
    _, asqa, eli5 = origin
    with pytest.raises(UserError, match=r"holds 4 questions \(948 are published\).*metaeval cite generate"):
        load_dataset(asqa)
    with pytest.raises(UserError, match=r"holds 3 questions \(1,000 are published\)"):
        load_dataset(eli5)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([], "a list of objects"),
        ({"data": QUESTIONS}, "a list of objects"),
        ([{"question": "?"}], "record 1.*docs"),
        ([*QUESTIONS, {"question": "?", "docs": [{"title": "B"}]}], "record 5.*text"),
    ],
)
def test_another_layout_is_one_sentence(tmp_path, content, says):
    path = tmp_path / ASQA_FILE
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=says):
        questions_in(path)
