"""Size and time of the explorer's page: python -m benchmarks.explorer ../shared/data [--sizes 500,5000,50000].

Pairs are WiCE's test claims with a pool of BM25's 130 best chunks, two metrics, both explained. The page is opened from
disk by the system's Chromium, headless; the time is from the call to the first text in the reading pane, the median of
three openings in a browser that has just started.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

JOB = "-m overlap,rouge -d wice -p retrieval -s pool=bm25:130 -s controls=false -s interval.resamples=0 "
OPENINGS = 3


def main():
    """Run the job once, and print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", default="500,5000,50000")
    given = parser.parse_args()
    metaeval = [sys.executable, "-m", "metaeval"]
    print("| pairs | file | to first reading | to write |\n|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        options = [*JOB.split(), "-s", "comparison.permutations=0", "-q", "--data", given.data, "--results", folder]
        subprocess.run([*metaeval, "run", *options], check=True)
        for size in given.sizes.split(","):
            path = Path(folder) / f"{size}.html"
            start = time.monotonic()
            command = [*metaeval, "view", "--results", folder, "--max-pairs", size, "-o", path]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            written = time.monotonic() - start
            pairs = said.split(": ")[1].split(" ")[0]
            opened = statistics.median(first_reading(path) for _ in range(OPENINGS))
            print(f"| {pairs} | {path.stat().st_size / 1e6:.1f} MB | {opened:.1f} s | {written:.0f} s |", flush=True)


def first_reading(path):
    """Seconds until a pair can be read."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        start = time.monotonic()
        page.goto(f"{path.as_uri()}#view=pairs")
        page.wait_for_selector(".reader .text", timeout=120_000)
        seconds = time.monotonic() - start
        browser.close()
    return seconds


if __name__ == "__main__":
    main()
