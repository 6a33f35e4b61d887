# ruff: noqa: T201 (findings are printed in long lines; no SQL here reaches a database)
"""Run ``python -m tests.attacks [--one] NUMBER...``: each attack runs against a separate navlin, with ``--one`` all of
them against one, unless they need settings of their own. The exit code is 1 if a promise was broken.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from tests.attacks import age, cost, directories, forms, listeners, peers, poison, rotated, share
from tests.attacks.house import Room, one_for_all

MODULES = (cost, share, poison, forms, age, peers, directories, listeners, rotated)
ATTACKS: dict[int, Callable[[Room], None]] = {
    n: act for module in MODULES for n, act in module.ATTACKS.items()
}


def main(words: list[str]) -> int:
    if words[:1] == ["--one"]:
        room = Room(0)
        with one_for_all(room):
            ended = main(words[1:])
        return max(ended, *(not held for held, _ in room.seen))
    numbers = sorted(ATTACKS) if words == ["all"] else [int(word) for word in words]
    if not numbers:
        for number in sorted(ATTACKS):
            print(f"{number:3} {(ATTACKS[number].__doc__ or '').splitlines()[0]}")
        return 0
    ends = {}
    for number in numbers:
        act, room = ATTACKS[number], Room(number)
        print(f"{number} {act.__name__}: {(act.__doc__ or '').splitlines()[0]}", flush=True)
        try:
            act(room)
        except Exception:  # continue with the next attack; this one is undecided, not held
            traceback.print_exc()
            room.not_run = "the attack itself failed"
        broken = [what for held, what in room.seen if not held]
        ends[number] = (
            "BROKEN" if broken else f"NOT RUN: {room.not_run}" if room.not_run or not room.seen else "held"
        )
        print(f"{number} {ends[number]}", flush=True)
    for number, end in ends.items():
        print(f"{number:3} {end}")
    return int(any(end != "held" for end in ends.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
