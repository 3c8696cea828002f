"""Published files: found in a mirror, fetched over HTTP from a server on this machine, refused when they differ."""

import contextlib
import hashlib
import http.server
import socket
import urllib.error
import urllib.request

import pytest

from metaeval.core.errors import UserError
from metaeval.core.files import cache_folder
from metaeval.corpus import loading
from metaeval.corpus.dataset import Dataset, SourceFile
from metaeval.corpus.model import Corpus

CONTENT = b'{"claim": "x"}\n' * 9_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class _Origin(http.server.BaseHTTPRequestHandler):
    sent = 0  # bytes of the file without end

    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path.startswith("/to="):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to="))
            self.end_headers()
            return
        if self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                while True:
                    _Origin.sent += self.wfile.write(b"x" * 65_536)
        body = b"other bytes" if self.path == "/other" else CONTENT
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # who has had too much hangs up
            self.wfile.write(body[:1000] if self.path == "/cut" else body)

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def origin(serve_with):
    return serve_with(_Origin)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path))


def dataset(url, sha256=SHA256, size=135_000):
    def load(split, paths, options):
        return Corpus(split, {}, {}, ())

    files = {"all": (SourceFile("a.jsonl", url, sha256, size),)}
    return Dataset("toy", "Toy", "", "", "", load, commit="c0ffee", folder="toy_folder", files=files)


def put(data, where, content=CONTENT):
    path = data / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


class TestFetched:
    def test_a_file_is_fetched_once_and_kept_by_commit(self, origin, tmp_path, capsys):
        toy = dataset(f"{origin}/a")
        paths = loading.locate(toy, "all", None)
        assert paths == {"a.jsonl": tmp_path / "toy_folder" / "c0ffee" / "a.jsonl"}
        assert paths["a.jsonl"].read_bytes() == CONTENT
        captured = capsys.readouterr()
        assert captured.err == f"Fetching toy/a.jsonl (0.1 MB) from {origin}/a\n"
        assert captured.out == ""
        assert loading.locate(dataset("http://nowhere.invalid/a"), "all", None) == paths
        assert capsys.readouterr().err == ""

    def test_an_unpinned_file_is_taken_as_it_is_and_its_hash_recorded(self, origin, tmp_path):
        toy = dataset(f"{origin}/other", sha256="", size=0)
        path = loading.locate(toy, "all", None)["a.jsonl"]
        assert path.read_bytes() == b"other bytes"
        assert [row.status for row in loading.verify(toy, None)] == ["ok"]
        path.write_bytes(b"changed")
        assert [row.status for row in loading.verify(toy, None)] == ["differs"]

    def test_a_file_that_an_earlier_version_fetched_has_no_recorded_hash(self, tmp_path):
        path = put(tmp_path, "toy_folder/c0ffee/a.jsonl", b"other bytes")
        toy = dataset("http://nowhere.invalid/other", sha256="", size=0)
        assert loading.locate(toy, "all", None)["a.jsonl"] == path
        assert [row.status for row in loading.verify(toy, None)] == ["unpinned"]

    def test_a_damaged_cached_file_is_fetched_again(self, origin, tmp_path):
        path = put(tmp_path, "toy_folder/c0ffee/a.jsonl", b"damaged")
        loading.locate(dataset(f"{origin}/a"), "all", None)
        assert path.read_bytes() == CONTENT

    @pytest.mark.parametrize(
        ("path", "says", "pinned"),
        [
            ("/missing", "the server answered 404", {}),
            ("/cut", "stopped after 1,000 of 135,000 bytes", {}),
            ("/cut", "stopped after 1,000", {"sha256": "", "size": 0}),
            ("/other", "got 11 bytes with SHA-256", {}),
            ("/a", "it sends more than the 7 bytes of the published file", {"size": 7}),
            ("/a", "the published file has 135,001 bytes", {"size": len(CONTENT) + 1}),
        ],
    )
    def test_what_comes_wrong_is_not_kept(self, origin, tmp_path, path, says, pinned):
        self.refused(dataset(origin + path, **pinned), tmp_path, says)

    @pytest.mark.parametrize("size", [5, 100_000])
    def test_a_file_without_end_is_given_up_at_its_pinned_size(self, origin, tmp_path, size):
        _Origin.sent = 0
        says = f"it sends more than the {size:,} bytes of the published file"
        self.refused(dataset(f"{origin}/endless", size=size), tmp_path, says)
        # What the system holds between the two; the origin would go on for ever.
        assert _Origin.sent < 50_000_000

    def test_nobody_listens(self, tmp_path):
        with socket.socket() as taken:
            # Bound and not listening: connections are refused at once, and nobody else can take the port.
            taken.bind(("127.0.0.1", 0))
            self.refused(dataset(f"http://127.0.0.1:{taken.getsockname()[1]}/a"), tmp_path, "no connection")

    def refused(self, toy, cache, says):
        (file,) = toy.files["all"]
        with pytest.raises(UserError) as raised:
            loading.locate(toy, "all", None)
        message = str(raised.value)
        place = cache / "toy_folder" / "c0ffee" / "a.jsonl"
        for part in (says, file.url, file.sha256, str(place), "--data FOLDER"):
            assert part in message
        assert list(place.parent.iterdir()) == []

    def test_a_server_may_send_on_to_another_address_of_the_web(self, origin, tmp_path):
        paths = loading.locate(dataset(f"{origin}/to={origin}/a"), "all", None)
        assert paths["a.jsonl"].read_bytes() == CONTENT

    @pytest.mark.parametrize(
        "there", ["file://{secret}", "ftp://127.0.0.1/a", "data:text/plain,secret", "FILE:{secret}"]
    )
    def test_a_server_cannot_send_on_to_what_is_not_the_web(self, origin, tmp_path, there):
        (tmp_path / "secret").write_text("secret")
        cache = tmp_path / "toy_folder"
        toy = dataset(f"{origin}/to={there.format(secret=tmp_path / 'secret')}", sha256="", size=0)
        with pytest.raises(UserError, match="the server answered 302"):
            loading.locate(toy, "all", None)
        assert not list(cache.rglob("a.jsonl"))

    @pytest.mark.parametrize(("there", "followed"), [("https://b/a", True), ("http://a/a", False), ("HTTP://a", False)])
    def test_nobody_is_sent_from_an_encrypted_address_to_a_plain_one(self, there, followed):
        asked = urllib.request.Request("https://a/a")
        if followed:
            assert loading._Onward().redirect_request(asked, None, 302, "Found", {}, there).full_url == there
            return
        with pytest.raises(urllib.error.HTTPError, match=f"sends on to {there}, which is not followed"):
            loading._Onward().redirect_request(asked, None, 302, "Found", {}, there)

    def test_a_cache_that_cannot_be_written(self, origin, tmp_path, monkeypatch):
        (tmp_path / "cache").write_text("a file, not a folder")
        monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
        with pytest.raises(UserError, match="METAEVAL_CACHE"):
            loading.locate(dataset(f"{origin}/a"), "all", None)


class TestCacheFolder:
    def test_order_of_precedence(self, monkeypatch, tmp_path):
        monkeypatch.delenv("METAEVAL_CACHE", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "metaeval"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache_folder() == tmp_path / "xdg" / "metaeval"
        monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "own"))
        assert cache_folder() == tmp_path / "own"
        monkeypatch.setenv("METAEVAL_CACHE", "~nobody-has-this-name/own")  # as ~ where a user has no home
        with pytest.raises(UserError, match="METAEVAL_CACHE"):
            cache_folder()


class TestLocalMirror:
    toy = dataset("http://nowhere.invalid/a")

    def test_the_data_sets_folder_comes_before_the_bare_name(self, tmp_path):
        bare = put(tmp_path, "a.jsonl")
        assert loading.locate(self.toy, "all", tmp_path) == {"a.jsonl": bare}
        inside = put(tmp_path, "toy_folder/a.jsonl")
        assert loading.locate(self.toy, "all", tmp_path) == {"a.jsonl": inside}

    def test_a_missing_file_is_never_fetched(self, origin, tmp_path):
        with pytest.raises(UserError, match=rf"toy_folder/a\.jsonl nor a\.jsonl.*{origin}/a.*{SHA256}"):
            loading.locate(dataset(f"{origin}/a"), "all", tmp_path)

    def test_a_changed_file_is_refused_with_both_checksums(self, tmp_path):
        put(tmp_path, "a.jsonl", b"changed")
        with pytest.raises(UserError, match=f"{hashlib.sha256(b'changed').hexdigest()}.*{SHA256}"):
            loading.locate(self.toy, "all", tmp_path)

    def test_a_folder_that_is_none(self, tmp_path):
        with pytest.raises(UserError, match="does not exist"):
            loading.locate(self.toy, "all", tmp_path / "none")
        with pytest.raises(UserError, match="is a file"):
            loading.locate(self.toy, "all", put(tmp_path, "a.jsonl"))

    def test_verify_reports_and_raises_nothing(self, tmp_path):
        def state():
            return [row.status for row in loading.verify(self.toy, tmp_path)]

        assert state() == ["missing"]
        put(tmp_path, "a.jsonl", b"changed")
        assert state() == ["differs"]
        put(tmp_path, "toy_folder/a.jsonl")
        assert state() == ["ok"]
        assert loading.verify(self.toy, tmp_path)[0].path == tmp_path / "toy_folder" / "a.jsonl"
