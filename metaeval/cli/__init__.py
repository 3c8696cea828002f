"""The command line: modules here parse what is typed, and print; `metaeval.analyses` does the work."""

import gc
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it with one sentence and exit code 130, even while modules are being loaded."""
    # What the caller closed would be the number of the next file that is opened.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    # Modules stay to the end: to look for garbage among them every 700 objects is 5 % of a short command's time.
    gc.set_threshold(10_000, 20, 20)
    try:
        from metaeval.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("metaeval: stopped.\n")
        sys.exit(130)
    finally:
        # The process only ends now. An interrupt may end it sooner, without the traceback of what was being let go.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
