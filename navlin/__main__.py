"""``python -m navlin`` is ``navlin``."""

from navlin.cli import main

main(prog_name="navlin")
