"""Commands run in a process that notes whatever they import, start or connect to: `python tests/audited.py < JSON`.

Standard input: {"commands": [[WORD, ...], ...]}. Standard output: for each command, how it ended and what it did.
"""

import contextlib
import functools
import io
import json
import os
import sys

STARTED = ("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "pty.", "os.startfile")
CONNECTED = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.", "http.client")
HERE = os.getcwd()

noted = []


def note(event, args):
    """Note what runs a program, opens a connection, or loads code from the current folder."""
    if event.startswith((*STARTED, *CONNECTED)) and not (event == "subprocess.Popen" and args[0] in OURS):
        noted.append(f"{event} {args[:2]!r}")
    elif event in ("import", "pickle.find_class", "ctypes.dlopen"):
        name = str(args[0])
        if "evil" in name or name.startswith(HERE):
            noted.append(f"{event} {name}")
    elif event == "exec":
        file = os.path.abspath(getattr(args[0], "co_filename", ""))
        if file.startswith(HERE) and os.path.isfile(file):
            noted.append(f"exec {file}")


# What `platform` asks the system for by itself.
OURS = ("uname",)

if __name__ == "__main__":
    commands = json.load(sys.stdin)["commands"]
    sys.path[:] = [path for path in sys.path if path not in ("", HERE)]
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401  (its CUDA build runs `ldconfig` when it is imported, whatever data name)
    sys.addaudithook(note)
    import typer.main

    from metaeval.cli.app import main

    typer.main.get_command = functools.cache(typer.main.get_command)  # one tree of commands for all
    found = []
    for words in commands:
        noted.clear()
        sys.argv = ["metaeval", *words]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code or 0
        found.append({"code": code, "said": said.getvalue(), "noted": list(noted)})
    json.dump(found, sys.stdout)
