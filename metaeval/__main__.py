"""`python -m metaeval`."""

from metaeval.cli import main

if __name__ == "__main__":
    main()
