"""Shards in a bucket: the same bytes as in a folder, whole files or none, and no key in a file or a message."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

from pyarrow import fs  # noqa: E402

from metaeval import remote_files  # noqa: E402
from metaeval.errors import UserError  # noqa: E402
from metaeval.files import atomic_write  # noqa: E402
from metaeval.remote_files import location  # noqa: E402
from metaeval.scoring import large_pair_tables  # noqa: E402

TOYS = Path(__file__).parents[1] / "scoring" / "executors" / "toys.py"
SECRET = "kept-from-all-files"
DATA = ["-d", "ratings", "--data", "pairs.parquet"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The host and port of an S3-compatible server."""
    pytest.importorskip("moto", reason="moto is not installed")
    command = [sys.executable, "-c", "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, stderr=file, stdout=file)
    while not (address := re.search(r"http://(127\.0\.0\.1:\d+)", log.read_text())):
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    yield address[1]
    process.kill()
    process.wait()


@pytest.fixture
def bucket(server, cli, monkeypatch):
    """The address of an empty folder in a bucket, and a file system that sees the bucket."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(large_pair_tables, "WINDOW_ROWS", 30)
    rows = range(70)
    source = [f"Bridge {row // 4 % 9} {'x' * (row // 4 % 5)} was opened." for row in rows]
    statement = [f"It opened {row}" for row in rows]
    pq.write_table(pyarrow.table({"source": source, "statement": statement}), "pairs.parquet")
    files = fs.S3FileSystem(endpoint_override=server, scheme="http", region="us-east-1", allow_bucket_creation=True)
    files.create_dir("scores")
    folder = f"job-{time.monotonic_ns()}"
    return f"s3://scores/{folder}?scheme=http&endpoint_override={server}&region=us-east-1", files, f"scores/{folder}"


def stored(path):
    with closing(sqlite3.connect(path)) as file:
        return set(file.execute("SELECT pair, score, status, tokens, cut, checksum FROM scores"))


def contents(files, folder):
    infos = files.get_file_info(fs.FileSelector(folder, recursive=True))
    return {info.path: files.open_input_file(info.path).read() for info in infos if info.is_file}


def test_shards_in_a_bucket_are_a_plain_run(bucket, cli, ran, refused):
    address, files, folder = bucket
    shutil.copy(TOYS, ".")
    score = ("score", "-m", "toys:Company", *DATA, "-q")
    ran(*score, "-o", "plain", "--store", "plain.sqlite")
    ran(*score, "--shard", "0/2", "-o", address)
    left = cli("shards", "status", address)
    assert (left.code, "left of 2: --array=1\n" in left.out) == (1, True)
    before = contents(files, folder)
    ran(*score, "--shard", "0/2", "-o", address)  # what is there is not written again
    assert contents(files, folder) == before
    ran(*score, "--shard", "1/2", "-o", address)
    assert f"Complete: metaeval shards merge '{address}'" in ran("shards", "status", address).out
    assert ran("shards", "verify", address, "-q", "--trust-config").out.count("all equal") == 3
    ran("shards", "merge", address, "--store", "merged.sqlite")
    assert stored("merged.sqlite") == stored("plain.sqlite")
    written = contents(files, folder)
    assert sorted({Path(path).suffix for path in written}) == [".json", ".parquet"]
    assert not [path for path, content in written.items() if SECRET.encode() in content]
    part = next(path for path in written if "/part-" in path)
    with files.open_output_stream(part) as file:
        file.write(written[part][:-9])
    assert "is damaged, or not a shard's file" in refused("shards", "merge", address, "--store", "merged.sqlite")


def test_a_file_that_is_not_finished_does_not_exist(bucket):
    address, files, folder = bucket
    path = location(address) / "part-000000-000000-00000000.parquet"
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.writelines([b"x" * 100, None])
    assert not path.is_file()
    assert [*location(address).glob("*")] == []
    # A process that is killed while it uploads: of an upload in parts, an object store shows nothing before its end.
    upload = (
        "import os, sys; from metaeval.remote_files import location; from pathlib import Path\n"
        "place = location(sys.argv[1]) / 'part-000000-000001-00000000.parquet'\n"
        "stream = place._files.open_output_stream(str(place.path))\n"
        "stream.write(bytes(12_000_000)); print('begun', flush=True); os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", upload, address], capture_output=True, text=True, env=os.environ)
    assert (ended.returncode, ended.stdout) == (-9, "begun\n")
    assert [*location(address).glob("*")] == []
    assert files.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True)) == []


def test_a_bucket_that_does_not_exist_is_named_without_keys(bucket, refused):
    address = bucket[0].replace("//scores/", "//nobody/")
    message = refused("score", "-m", "overlap", *DATA, "-q", "--shard", "0/2", "-o", address)
    assert message.startswith("Cannot read or write s3://nobody/job-")
    assert SECRET not in message


@pytest.mark.parametrize("address", ["s3://name:{}@scores/job", "s3://scores/job?secret_key={}"])
def test_an_address_with_keys_is_refused_without_them(address, refused):
    message = refused("shards", "status", address.format(SECRET))
    assert message.startswith("An address of s3 may hold a bucket, a path")
    assert SECRET not in message


def test_a_path_is_a_path_and_other_stores_rename(tmp_path, monkeypatch):
    assert location("a/b") == location(Path("a/b")) == Path("a/b")
    assert location(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    monkeypatch.setattr(
        remote_files, "_file_system", lambda _: fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    )
    path = location("hdfs://node/folder") / "x.json"
    with atomic_write(path) as file:
        file.write(b"{}")
    assert [(str(file.relative_to(tmp_path)), file.read_bytes()) for file in tmp_path.rglob("*.*")] == [
        ("node/folder/x.json", b"{}")
    ]
    with pytest.raises(UserError, match="Cannot read or write hdfs://node/none"):
        location("hdfs://node/none").read_bytes()
