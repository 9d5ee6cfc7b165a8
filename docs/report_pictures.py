"""Draw the pictures of a report that the documentation shows: a workspace, made and looked at.

    python docs/report_pictures.py        # needs the system's Chromium, and playwright

The records are scikit-learn's breast cancer data, which are public; a third of them play the
private ones. Noise is real, so figures differ a little from run to run.
"""

import csv
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_breast_cancer

from expunge.workspace.audit import audit
from expunge.workspace.fit import fit
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.report import report

STATIC = Path(__file__).parent / "_static"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
VIEWS = {  # width, height, scheme
    "desk": (900, 1000, "light"),
    "telephone": (390, 1000, "dark"),
}
COLOURS = 48  # of a picture: text and flat areas


def made(folder: Path) -> Path:
    """A workspace in which two requests were honoured and one audit made; its report."""
    data: Any = load_breast_cancer()
    rows = list(zip(data.data[:, :8], data.target, strict=True))
    header = ["patient", *(name.replace(" ", "_") for name in data.feature_names[:8]), "tumour"]
    for name, start, part in (
        ("hospital", 10_000, rows[:200]),
        ("published", 20_000, rows[200:400]),
        ("unseen", 30_000, rows[400:]),
    ):
        _write(folder / f"{name}.csv", header, part, start, data.target_names)
    workspace = folder / "screening"
    options = Options(id="patient", label="tumour", released=False)
    fit(workspace, folder / "hospital.csv", folder / "published.csv", options)
    forget(workspace, ["10003", "10077"])
    forget(workspace, ["10150"])
    audit(workspace)
    page = folder / "report.html"
    report(workspace, page, operator="Example Hospital", test=folder / "unseen.csv")
    return page


def _write(
    path: Path, header: list[str], rows: Iterable[Any], start: int, names: Iterable[Any]
) -> None:
    words = [str(name) for name in names]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for number, (features, label) in enumerate(rows, start):
            writer.writerow([number, *(f"{value:.5g}" for value in features), words[label]])


def take(browser: Browser, page: Path, view: str) -> None:
    """A picture of the top of the page, in few colours."""
    width, height, scheme = VIEWS[view]
    shown = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    shown.goto(page.as_uri())
    path = STATIC / f"report_{view}.png"
    shown.screenshot(path=path)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(COLOURS)
    few.save(path, optimize=True)


def main() -> None:
    """Make the report, and take every picture of it."""
    path = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        page = made(Path(folder))
        browser = running.chromium.launch(executable_path=path, args=list(FLAGS))
        for view in VIEWS:
            take(browser, page, view)
        browser.close()


if __name__ == "__main__":
    main()
