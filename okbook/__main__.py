"""``python -m okbook`` is the command ``okbook``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
