"""Commands of metaeval as children of a process that has run one already: a life costs what it computes, no imports.

The arguments are that command, after the names of modules to import and "--". Reads lives from standard input, one JSON
object a line: argv; log, the file that gets both outputs; signal and after, the signal that is sent to it and the
seconds it is given (both may be null), of its own computing where `computing` is true; copies, how many run at once
(the first one is sent the signal). Answers each with one line: the exit codes as `subprocess` gives them, and the
seconds that the first one computed, which do not depend on what else the machine does.
"""

import contextlib
import functools
import importlib
import json
import os
import signal
import sys
import time
import traceback

import typer.main

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def live(argv, out):
    """Run a command in this process, both outputs into a file, and end it. A signal that came before is heard then."""
    code = 1
    try:
        for number in HEARD:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.argv = ["metaeval", *argv]
        command = importlib.import_module("metaeval.cli").main
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        command()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except KeyboardInterrupt:  # before the command had begun
        sys.stderr.write("metaeval: stopped.\n")
        code = 130
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def computed(pid):
    """Seconds of the processor that a child has used."""
    with open(f"/proc/{pid}/stat") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    split = sys.argv.index("--")
    os.fsync = lambda file: None  # no plug is pulled here
    typer.main.get_command = functools.cache(typer.main.get_command)  # one tree of commands for all
    modules, warm = sys.argv[1:split], sys.argv[split + 1 :]
    for name in modules:
        importlib.import_module(name)
    sys.argv = ["metaeval", *warm]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.suppress(SystemExit):
        importlib.import_module("metaeval.cli.app").main()
    for line in sys.stdin:
        life = json.loads(line)
        start = time.monotonic()
        children = []
        for copy in range(life.get("copies", 1)):
            out = os.open(f"{life['log']}{copy or ''}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
            pid = os.fork()
            if pid == 0:
                live(life["argv"], out)
            os.close(out)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            children.append(pid)
        codes = {}
        sent = life["signal"] is None
        while len(codes) < len(children):
            if children[0] not in codes:
                seconds = computed(children[0])
            if not sent and (seconds if life["computing"] else time.monotonic() - start) >= life["after"]:
                sent = True
                if children[0] not in codes:
                    os.kill(children[0], life["signal"])
            for pid in children:
                if pid not in codes:
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if ended:
                        codes[pid] = os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        answers.write(json.dumps({"codes": [codes[pid] for pid in children], "seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()
