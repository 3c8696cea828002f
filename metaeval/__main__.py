"""Run the command line by `python -m metaeval`."""

import os
import sys

if __name__ == "__main__":
    # Python puts the current folder first in the path, where a file of the user's data could stand for a package.
    try:
        if not sys.flags.safe_path and sys.path[0] == os.getcwd():
            del sys.path[0]
    except FileNotFoundError:
        pass  # the folder was deleted, and is not in the path
    from metaeval.cli import main

    main()
