"""Run benches by name, or list all benches if no name is given.

python -m bench [NAME…] [OPTION…]        options are passed to the named benches
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from rich.console import Console


def benches() -> dict[str, str]:
    """Map the name of each bench to the first line of its docstring."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return {
        name: (importlib.import_module(f"bench.{name}").__doc__ or "").strip().partition("\n")[0]
        for name in names
        if not name.startswith("_")
    }


def main() -> None:
    arguments = sys.argv[1:]
    first_option = next((at for at, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, options = arguments[:first_option], arguments[first_option:]
    console, known = Console(), benches()
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"there is no bench {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    if not names:
        for name, line in sorted(known.items()):
            console.print(f"[bold]{name}[/]  {line}", highlight=False)
    for name in names:
        sys.argv = [f"bench {name}", *options]
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
