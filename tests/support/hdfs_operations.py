"""Random operations on a real HDFS below one directory, such as users and jobs perform on files and directory trees."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from navlin.model.tree import contains
from tests.services.hdfs import Writer

MOST_DEPTH = 6
MOST_DELETED = 40
OWNERS = (("alice", "analysts"), ("bob", "staff"), ("hdfs", "supergroup"))
MODES = ("0644", "0600", "0755", "1777", "0750")
WORDS = b'{"name": "words %d", "tags": ["told"], "properties": {"steward": "ann"}}'


@dataclass
class Operations:
    """Changes the tree below ``top``, and tracks its contents. Equal seeds make equal changes."""

    writer: Writer
    top: str
    seed: int | str = 1
    things: dict[str, bool] = field(default_factory=dict)
    """Path below ``top`` → whether it is a directory."""
    done: int = 0
    _opened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self.writer.mkdirs(self.top)

    def do(self, count: int) -> None:
        kinds: dict[Callable[[], bool], int] = {
            self._create: 26,
            self._overwrite: 6,
            self._mkdirs: 9,
            self._append: 9,
            self._rename_file: 12,
            self._rename_tree: 8,
            self._delete_file: 10,
            self._delete_tree: 2,
            self._chmod: 8,
            self._chown: 5,
            self._touch: 3,
            self._replicate: 2,
            self._acl: 2,
            self._truncate: 2,
            self._describe: 2,
            self._leave_open: 1,
            self._commit: 2,
        }
        until = self.done + count
        while self.done < until:
            (operation,) = self._random.choices(list(kinds), list(kinds.values()))
            self.done += operation()

    def close(self) -> None:
        while self._opened:
            path = self._opened.pop()
            if path in self.things:
                self.writer.close(path)

    # -- Paths ---------------------------------------------------------------------------------------------------------

    def _any(self, *, directory: bool) -> str:
        """Return a random path that is not open for writing; "" if there is none."""
        found = [
            path for path, is_one in self.things.items() if is_one is directory and path not in self._opened
        ]
        return self._random.choice(found) if found else ""

    def _home(self) -> str:
        """Return a random directory that may get new entries."""
        shallow = [path for path, is_one in self.things.items() if is_one and path.count("/") < MOST_DEPTH]
        return self._random.choice([self.top, *shallow])

    def _new(self, *, suffix: str = "") -> str:
        name = self._random.choice(("part", "ds=2026-01-0", "data 1%", "größe", "x.y"))
        return f"{self._home()}/{name}{self._random.randrange(60)}{suffix}"

    def _bytes(self) -> bytes:
        return b"x" * self._random.choice((0, 1, 10, 1_000))

    def _drop(self, path: str) -> dict[str, bool]:
        dropped = {old: is_one for old, is_one in self.things.items() if contains(path, old)}
        for old in dropped:
            del self.things[old]
        return dropped

    def _holds_open(self, path: str) -> bool:
        return any(contains(path, opened) for opened in self._opened)

    # -- Operations ----------------------------------------------------------------------------------------------------

    def _create(self) -> bool:
        path = self._new()
        if path in self.things:
            return False
        self.writer.create(path, self._bytes())
        self.things[path] = False
        return True

    def _overwrite(self) -> bool:
        path = self._any(directory=False)
        if path:
            self.writer.create(path, self._bytes())
        return bool(path)

    def _mkdirs(self) -> bool:
        path = f"{self._new(suffix='.d')}"
        deeper = f"{path}/sub" if self._random.random() < 0.3 else path
        if path in self.things:
            return False
        self.writer.mkdirs(deeper)
        self.things[path] = self.things[deeper] = True
        return True

    def _append(self) -> bool:
        path = self._any(directory=False)
        if path:
            self.writer.append(path, b"more")
        return bool(path)

    def _rename_file(self) -> bool:
        path = self._any(directory=False)
        over = self._any(directory=False)
        to = over if over and self._random.random() < 0.2 else self._new()
        if not path or path == to or self.things.get(to, False):
            return False
        self.writer.rename(path, to)
        del self.things[path]
        self.things[to] = False
        return True

    def _rename_tree(self) -> bool:
        path = self._any(directory=True)
        to = self._new(suffix=".d")
        if not path or contains(path, to) or to in self.things or self._holds_open(path):
            return False
        self.writer.rename(path, to)
        self.things |= {to + old.removeprefix(path): is_one for old, is_one in self._drop(path).items()}
        return True

    def _delete_file(self) -> bool:
        path = self._any(directory=False)
        if path:
            self.writer.delete(path)
            del self.things[path]
        return bool(path)

    def _delete_tree(self) -> bool:
        path = self._any(directory=True)
        # Without a limit, the directories near the top would remove almost everything again and again.
        if (
            not path
            or self._holds_open(path)
            or sum(contains(path, each) for each in self.things) > MOST_DELETED
        ):
            return False
        self.writer.delete(path)
        self._drop(path)
        return True

    def _either(self) -> str:
        return self._any(directory=self._random.random() < 0.4)

    def _chmod(self) -> bool:
        if path := self._either():
            self.writer.chmod(path, self._random.choice(MODES))
        return bool(path)

    def _chown(self) -> bool:
        if path := self._either():
            self.writer.chown(path, *self._random.choice(OWNERS))
        return bool(path)

    def _touch(self) -> bool:
        if path := self._either():
            self.writer.touch(path, self._random.randrange(10**12))
        return bool(path)

    def _replicate(self) -> bool:
        if path := self._any(directory=False):
            self.writer.replicate(path, self._random.randrange(1, 4))
        return bool(path)

    def _acl(self) -> bool:
        if path := self._any(directory=True):
            self.writer.acl(path, "user:bob:r-x,default:group:staff:r--")
        return bool(path)

    def _truncate(self) -> bool:
        if path := self._any(directory=False):
            self.writer.create(path, b"long enough")
            self.writer.truncate(path, 0)
        return bool(path)

    def _describe(self) -> bool:
        """Write a sidecar file next to a file or into a directory."""
        path = self._either()
        if not path or "/." in path:
            return False
        above, _, name = path.rpartition("/")
        sidecar = f"{path}/.navigator" if self.things[path] else f"{above}/.{name}.navigator"
        self.writer.create(sidecar, WORDS % self.done)
        self.things[sidecar] = False
        return True

    def _leave_open(self) -> bool:
        path = self._new(suffix=".log")
        if path in self.things or len(self._opened) > 4:
            return False
        self.writer.create(path, b"so far", close=False)
        self.things[path] = False
        self._opened.append(path)
        return True

    def _commit(self) -> bool:
        """Write a file below a staging directory, then move it to its target, as a job does."""
        home = self._home()
        staging = f"{home}/_temporary/{self.done}"
        if f"{home}/committed{self.done}" in self.things:
            return False
        self.writer.create(f"{staging}/part", b"1")
        self.writer.rename(f"{staging}/part", f"{home}/committed{self.done}")
        self.writer.delete(f"{home}/_temporary")
        self.things[f"{home}/committed{self.done}"] = False
        return True
