"""`python -m odradek` is the odradek command, for where its script is not installed."""

from odradek.cli import main

if __name__ == "__main__":
    main()
