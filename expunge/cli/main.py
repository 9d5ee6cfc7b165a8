"""The command line: parse, call one library function, print.

Commands import what they need when they run, so that `--help` stays fast and accounting
never loads torch. Bad input exits 2 with one line on stderr and nothing on stdout.
"""

import contextlib
import os
import sys
from typing import Annotated, NoReturn

import typer

from expunge.cli import (
    account,
    add,
    audit,
    demo,
    evaluate,
    export,
    fit,
    forget,
    plan,
    predict,
    refresh,
    report,
    sample,
    status,
    verify,
)
from expunge.cli.output import MESSAGE_LENGTH, one_line, print_whatever_comes, start_logging

__all__ = ["app", "run", "start"]

EXITS = (
    "Exit status: 0 done; 1 something was read and does not hold, or was recorded and is not "
    "finished; 2 bad input, nothing was changed; 130 interrupted."
)
INTERRUPTED = 130  # as shells say it of a process that SIGINT ended
app = typer.Typer(
    name="expunge",
    help="Certified machine unlearning: delete records from a model, with a number you can defend.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,  # rich is loaded by the commands that print tables
    pretty_exceptions_enable=False,
    epilog=EXITS,
)
app.command("account", epilog=EXITS)(account.account)
app.command("plan", epilog=EXITS)(plan.plan)
app.command("verify", epilog=EXITS)(verify.verify)
app.command("demo", epilog=EXITS)(demo.demo)
app.command("fit", epilog=EXITS)(fit.fit)
app.command("forget", epilog=EXITS)(forget.forget)
app.command("add", epilog=EXITS)(add.add)
app.command("status", epilog=EXITS)(status.status)
app.command("predict", epilog=EXITS)(predict.predict)
app.command("evaluate", epilog=EXITS)(evaluate.evaluate)
app.command("refresh", epilog=EXITS)(refresh.refresh)
app.command("export", epilog=EXITS)(export.export)
app.command("report", epilog=EXITS)(report.report)
app.command("sample", epilog=EXITS)(sample.sample)
app.command("audit", epilog=EXITS)(audit.audit)


@app.callback()
def main(
    context: typer.Context,
    message_length: Annotated[
        int, typer.Option(min=40, help="Most characters of a complaint; longer ones are cut.")
    ] = 500,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress and no notices on stderr, only errors.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="A line on stderr for each thing that is done.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Certified machine unlearning: delete records from a model, with a number you can defend."""
    MESSAGE_LENGTH.set(message_length)
    start_logging(quiet=quiet, verbose=verbose)
    if version:
        from importlib import metadata

        print(metadata.version("expunge"))
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def start() -> NoReturn:
    """The console script: `run`, then leave at once.

    Threads that Arrow started may abort a process that is still tidying up (status 134).
    """
    try:
        run()
    except SystemExit as finished:
        with contextlib.suppress(OSError):  # a reader that has gone
            if isinstance(finished.code, str):
                print(finished.code, file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
        code = finished.code
        os._exit(code if isinstance(code, int) else int(code is not None))


def run() -> NoReturn:
    """Run the command; a complaint about input is one line and exit status 2."""
    print_whatever_comes()
    try:
        status = app(standalone_mode=False)
    except Exception as error:
        status = _complain(error)
    if status == INTERRUPTED:  # at any place: a request may be recorded
        print("expunge: interrupted; the same command again goes on from here", file=sys.stderr)
    sys.exit(status or 0)


def _complain(error: Exception) -> int:
    """Print what is wrong; re-raise what is our own fault."""
    from expunge.errors import InvalidInput, Refused

    usage = getattr(error, "format_message", None)  # typer's and click's usage errors
    if usage is not None:
        message = usage()
    elif isinstance(error, typer.Exit):
        return error.exit_code
    elif isinstance(error, typer.Abort):
        return INTERRUPTED
    elif isinstance(error, InvalidInput | Refused | OSError):
        message = _what_is_wrong(error)
    else:
        raise error
    print(f"expunge: {one_line(message)}", file=sys.stderr)
    return 2


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
