"""`expunge demo`: deletion beside retraining on made records; then digits, start to finish."""

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from expunge.cli.output import number, print_json
from expunge.cli.side_by_side import bought, side_by_side
from expunge.cli.stages import stages
from expunge.core.whole_file import write_whole

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

__all__ = ["demo"]

PUBLIC, PRIVATE = 600, 700
AUDITED = 200  # models of each law, drawn by the sampler of releases
SPLIT = (
    f"scikit-learn's 1,797 digits in a fixed shuffled order: the first {PUBLIC} are public, "
    f"the next {PRIVATE} private, the rest test"
)


def demo(
    output: Annotated[Path, typer.Option(help="Folder for certificate and report.")] = Path("demo"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Delete beside retraining; then learn digits, delete 30 %, certify it, attack it, report.

    The exit status is 1 if the attack contradicts the certificate, as for `expunge audit`.
    """
    from expunge.accounting.issue import now
    from expunge.accounting.trade_offs import trade_offs
    from expunge.accounting.verification import differences
    from expunge.audit.laws import audit_fitted
    from expunge.errors import Refused
    from expunge.report.page import page
    from expunge.report.words import longest_weights
    from expunge.unlearning.linear.estimator import CertifiedClassifier
    from expunge.unlearning.linear.langevin import Langevin, setting_of
    from expunge.workspace.evaluation import evaluation

    output.mkdir(parents=True, exist_ok=True)
    with stages("demo") as progress:
        progress("deletion beside retraining")
        beside = side_by_side()
    public, private, test = _digits()
    model = CertifiedClassifier(l2=1e-3).fit(*private, public=public)
    unseen = f"{len(test[1])} digits that no model was trained on"
    evaluations = [{"name": "before", "on": unseen, **evaluation(model.fitted_.head, *test)}]
    forget = list(range(0, PRIVATE, 10)) + list(range(1, PRIVATE, 10)) + list(range(2, PRIVATE, 10))
    plan = model.plan(len(forget))
    start = time.perf_counter()
    certificate = model.forget(forget)
    forgot = time.perf_counter() - start
    retrained = CertifiedClassifier(l2=1e-3, strategy="retrain").fit(*private, public=public)
    start = time.perf_counter()
    retrained.forget(forget)
    again = time.perf_counter() - start
    evaluations += [
        {"name": "after", "on": unseen, **evaluation(model.fitted_.head, *test)},
        {"name": "retrained", "on": unseen, **evaluation(retrained.fitted_.head, *test)},
    ]
    curves = trade_offs(
        setting_of(model.fitted_.job, Langevin(), len(forget)),
        model.fitted_.job.target,
        unlearn_steps=50,
        sigma=2.0,
        public_counts=(0, PUBLIC, 10 * PUBLIC),
    )
    with stages("demo") as progress:
        progress(f"audit: {AUDITED} models of each law")
        audit = audit_fitted(model.fitted_, models=AUDITED)
    strategies = [vars(price) for price in plan]
    issued = certificate.model_dump(mode="json")
    for difference in differences(certificate):
        raise Refused(f"the certificate does not hold: {difference.field} {difference.problem}")
    did = "proven" if certificate.proof == "proven" else "computed again"
    files = {"certificate": output / "certificate.json", "report": output / "report.html"}
    write_whole(files["certificate"], (certificate.readable() + "\n").encode())
    report = page(
        {
            "title": f"Deleted {len(forget)} of {PRIVATE} private digits",
            "data": f"{SPLIT}. Softmax regression on pixels.",
            "operator": None,
            "written": now(),
            "model": None,
            "requests": [],
            "names_published": False,
            "checked": f"The certificate's numbers were {did} from its own history.",
            "commands": ["expunge verify certificate.json"],
            "longest": longest_weights(1e-3, math.log(10)),
            "records": {
                "public": PUBLIC,
                "private": PRIVATE - len(forget),
                "forgotten": len(forget),
            },
            "certificate": issued,
            "strategies": strategies,
            "retraining": f"{again:.2f} seconds, measured in this run; the deletion took "
            f"{forgot:.2f}. On data of this size both are cheap. {bought(beside)}",
            "evaluations": evaluations,
            "trade_offs": curves,
            "audit": audit,
        }
    )
    write_whole(files["report"], report.encode())
    document = {
        "side_by_side": beside,
        "data": SPLIT,
        "forgotten": len(forget),
        "accuracy": {each["name"]: each["accuracy"] for each in evaluations},
        "claim": issued["claim"],
        "observer": certificate.observer,
        "strategy": certificate.strategy,
        "strategies": strategies,
        "audit": audit,
        "seconds": {"forget": forgot, "retrain": again},
        "files": {name: str(path) for name, path in files.items()},
    }
    if json:
        print_json(document)
    else:
        _print(document)
    raise typer.Exit(audit["exit_status"])


def _digits() -> "list[tuple[np.ndarray, np.ndarray]]":
    import numpy as np
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order] / 16, labels[order]
    cuts = (slice(0, PUBLIC), slice(PUBLIC, PUBLIC + PRIVATE), slice(PUBLIC + PRIVATE, None))
    return [(np.asarray(images[cut]), np.asarray(labels[cut])) for cut in cuts]


def _print_beside(console: "Console", beside: dict[str, Any]) -> None:
    from rich.table import Table

    title = (
        f"deleting {beside['forgotten']} of {beside['records']:,} made records beside retraining"
    )
    table = Table(title=title, title_justify="left")
    for heading in ("", "milliseconds", "accuracy"):
        table.add_column(heading, justify="right" if heading else "left")
    known = {
        "forget": f"forget, certified to ({beside['epsilon']:.3g}, {beside['delta']:g})",
        "retrain": "retrain from nothing",
        "placebo": "what the deletion's operations buy from nothing",
    }
    for name, told in known.items():
        seconds = beside["seconds"].get(name)
        spent = "as forget" if seconds is None else f"{1000 * seconds:.1f}"
        table.add_row(told, spent, f"{beside['accuracy'][name]:.2%}")
    console.print(table)
    console.print()


def _print(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console, accuracy = Console(), document["accuracy"]
    _print_beside(console, document["side_by_side"])
    console.print(f"Data: {document['data']}.")
    console.print(f"Deleted: {document['forgotten']} of {PRIVATE} private records (30 %).\n")
    table = Table(title="what it would cost (passes over the records)", title_justify="left")
    for heading in ("strategy", "passes", "epsilon", "noise left in the model", ""):
        table.add_column(heading, justify="left" if heading in ("strategy", "") else "right")
    for s in document["strategies"]:
        taken = "taken" if s["name"] == document["strategy"] else ""
        cells = (number(s["steps"]), number(s["epsilon"]), number(s["release_noise_std"]))
        table.add_row(s["name"], *cells, s["excluded"] or taken)
    console.print(table)
    console.print(
        f"\naccuracy: {accuracy['before']:.1%} before, [bold]{accuracy['after']:.1%} after[/bold], "
        f"{accuracy['retrained']:.1%} retrained from scratch"
    )
    seconds = document["seconds"]
    console.print(
        f"seconds: {seconds['forget']:.2f} to forget, {seconds['retrain']:.2f} to retrain"
    )
    for line in document["claim"]["statement"]:
        console.print(line)
    console.print(
        "Who could still learn something: an observer who kept the model from before the deletion."
    )
    console.print(f"attack on {document['audit']['models']} models: {document['audit']['verdict']}")
    for name, path in document["files"].items():
        console.print(f"{name}: {path}")
    console.print(f"check it: expunge verify {document['files']['certificate']}")
