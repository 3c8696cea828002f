# ruff: noqa: T201
"""Make the pictures of the explorer in docs/images, of the shipped mini corpus: `make screenshots`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs" / "images"
VIEWS = {
    "overview": "view=overview",
    "pairs": "view=pairs&preset=b-right&b=support-mini&marks=overlap",
    "pools": "view=pools&b=support-mini",
}
METRICS = "overlap,rouge,support-mini"


def main() -> None:
    """Run the main job, write its explorer, and take a picture of each view."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    DOCS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_path = Path(folder) / "view.html"
        metaeval = [sys.executable, "-m", "metaeval"]
        subprocess.run([*metaeval, "run", "-q", "-m", METRICS, "--results", folder], check=True)
        subprocess.run([*metaeval, "view", "--results", folder, "-o", str(page_path)], check=True)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, view in VIEWS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"{page_path.as_uri()}#{view}")
            page.wait_for_selector("main > *")
            page.wait_for_timeout(300)  # what is unpacked when first asked for
            page.screenshot(path=DOCS / f"explorer-{name}.png")
            print(DOCS / f"explorer-{name}.png")


if __name__ == "__main__":
    main()
