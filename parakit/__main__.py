"""`python -m parakit`."""

import sys

from parakit.cli import main

if __name__ == "__main__":
    sys.exit(main())
