"""Run the ``navlin`` command by ``python -m navlin``."""

from navlin.cli import main

main(prog_name="navlin")
