"""`python -m dpcore`: dispatches to the commands of `dpcore.cli`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
