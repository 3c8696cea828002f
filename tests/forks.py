"""`metaeval ARGS...` in a process of its own that starts at once: a fork of one process that has imported the modules.

`python tests/forks.py SOCKET MODULE...` forks as it is asked. What a fork does, its streams, signals, limits and how it
ends, is what `python -m metaeval ARGS...` does; only the imports and the tree of commands are made before. Python code
is run in the same way.
"""

import functools
import gc
import importlib
import importlib.util
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time


class Forks:
    """The process that forks, until the `with` block ends. Modules that are not installed are left out."""

    def __init__(self, *modules):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        found = [name for name in modules if importlib.util.find_spec(name)]
        command = [sys.executable, __file__, str(theirs.fileno()), *found]
        # One thread: more of them do not survive a fork.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self._one_at_a_time = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._process.wait()

    def ask(self, fds=(), **asked):
        with self._one_at_a_time:
            gc.disable()  # what is collected may wait for another fork: it would take this answer for its own
            try:
                socket.send_fds(self._socket, [json.dumps(asked).encode()], fds)
                return json.loads(self._socket.recv(100))
            finally:
                gc.enable()

    def start(self, *args, module="metaeval", code="", hears=(), ignores=(), file_size=None, **more):
        """A `subprocess.Popen` of `python -m MODULE ARGS...`, or of `python -c CODE ARGS...`.

        hears, ignores: signals that it does not ignore, whoever started these tests, and that it does; file_size: most
        bytes of a file that it may write.
        """
        own = {"module": module, "code": code, "hears": list(hears), "ignores": list(ignores), "file_size": file_size}
        return _Fork(self, own, list(map(str, args)), **more)


class _Fork(subprocess.Popen):
    def __init__(self, forks, own, args, **more):
        self._forks, self._own = forks, own
        super().__init__(args, **more)

    def _execute_child(self, args, _executable, _preexec, _close, _pass, cwd, env, _info, _flags, _shell, *more):
        given = more[0], more[3], more[5]  # the ends of pipes and files that are the fork's; -1: those of this process
        ends = [number if end == -1 else end for number, end in enumerate(given)]
        own = {"args": args, "cwd": str(cwd or os.getcwd()), "env": dict(env or os.environ), "session": more[11]}
        self.pid = self._forks.ask(ends, **own, **self._own)
        self._child_created = True
        self._close_pipe_fds(*more[:6])

    def _try_wait(self, flags):
        while True:
            pid, status = self._forks.ask(wait=self.pid)
            if pid or flags:
                return pid, status
            time.sleep(0.005)

    def _internal_poll(self, *_args, **_named):
        # Who ended is told once, to one thread.
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                pid, status = (0, 0) if self.returncode is not None else self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def become(asked, fds):
    """Make this process what a command starts as."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    if asked["session"]:
        os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    for number in asked["hears"]:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for number in asked["ignores"]:
        signal.signal(number, signal.SIG_IGN)
    if asked["file_size"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_size"], asked["file_size"]))
    sys.argv = ["-c" if asked["code"] else asked["module"], *asked["args"]]
    paths = asked["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [asked["cwd"], *(path for path in paths if path not in ("", *sys.path))]


def main():
    """Import, and fork for each request; a fork returns from here as the command that it has become."""
    own = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    if command_line := sys.modules.get("metaeval.cli.app"):
        typer = importlib.import_module("typer.main")
        typer.get_command = functools.cache(typer.get_command)
        typer.get_command(command_line.app)
    gc.freeze()  # no fork goes through these modules for garbage, which would copy them
    while True:
        message, fds, *_ = socket.recv_fds(own, 1 << 20, 3)
        if not message:
            return
        asked = json.loads(message)
        if "wait" in asked:
            own.send(json.dumps(os.waitpid(asked["wait"], os.WNOHANG)).encode())
            continue
        begun, begins = os.pipe()
        pid = os.fork()
        if not pid:
            own.close()
            become(asked, fds)
            os.close(begins)
            break
        for fd in (begins, *fds):
            os.close(fd)
        os.read(begun, 1)  # until it has its signals: whoever asked may send one at once
        os.close(begun)
        own.send(json.dumps(pid).encode())
    if asked["code"]:
        exec(asked["code"], {"__name__": "__main__"})
    else:
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
