"""Extractor for HDFS: files and directories, with owners and sizes, from the NameNode's image and later events.

The first plan reads a whole image. After that, the NameNode's edits (inotify) name the touched paths, and these are
read in their current state. An image is read again if the edits do not suffice, because they have a gap, the NameNode
was restored, or navlin's user is not permitted to read them. It is also read every ``complete_every_s`` seconds,
because some changes cause no event (quotas, snapshots, erasure coding).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from extractors.hdfs import spool
from extractors.hdfs.client import HdfsAddress, hdfs
from extractors.hdfs.continuity import NamespaceIds, edits_before, why_another, why_not_continued
from extractors.hdfs.errors import HdfsError, HdfsNotFound, HdfsRefused, HdfsUnavailable, MissingEvents
from extractors.hdfs.image_reading import (
    NAMENODE,
    ImageSettings,
    OfferedImage,
    local_image,
    read_image,
    read_image_part,
)
from extractors.hdfs.plan import (
    RAISE,
    HdfsPlanning,
    Saved,
    follow,
    plan_image,
    plan_listing,
    plan_touched,
    saved_in,
)
from extractors.hdfs.reading import HdfsReading, from_tree, read_described, read_trees, read_walk
from extractors.hdfs.site import authorities
from extractors.hdfs.splits import DescribeSplit, ImageSplit, PartSplit, TreeSplit, WalkSplit
from extractors.path_filters import STAGING, PathFilters, wrong_globs
from navlin.model.extractor import PULL, Extractor, extractor, keeps_positions
from navlin.model.image_positions import ENTRIES
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Record, Split
from navlin.model.source import HDFS, Estate, Source


@extractor("hdfs", source_type=HDFS, mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Hdfs(Extractor):
    """Extractor for one HDFS. ``image`` is "namenode", the path of an image file, or a directory of checkpoints, such
    as the mounted directory of a standby. ``roots`` are listed if navlin may not read images. ``include`` and
    ``exclude`` are globs (see `extractors.path_filters`).
    """

    source: Source
    estate: Estate
    url: str
    namenodes: tuple[str, ...] = ()
    hadoop_configuration_directory: str = ""
    http: tuple[str, ...] = ()
    # Positions survive a change of user. A superuser sees everything. For other users, the whole image or listing is
    # read each time, and no transaction is saved from which a superuser would follow events.
    user: str = keeps_positions("")
    principal: str = keeps_positions("")
    keytab: str = keeps_positions("")
    java_options: tuple[str, ...] = keeps_positions(())
    timeout_s: float = keeps_positions(60.0)
    image: str = NAMENODE
    events: bool = True
    roots: tuple[str, ...] = ("/",)
    # Each plan compares this with the time since the last complete plan.
    complete_every_s: int = keeps_positions(604_800)
    include: tuple[str, ...] = ("/",)
    exclude: tuple[str, ...] = STAGING
    entries: Literal["all", "directories"] = "all"
    sidecars: bool = True
    image_memory_bytes: int = keeps_positions(536_870_912)
    inodes_in_split: int = keeps_positions(100_000)

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the URLs of the file system and its NameNodes, as claims spell them."""
        directory = settings.get("hadoop_configuration_directory", "")
        return tuple(
            dict.fromkeys(authorities(settings.get("url", ""), settings.get("namenodes", ()), directory))
        )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        try:
            _ = self._address
        except ValueError as error:
            yield "url", f"url: {error}"
        yield from wrong_globs(self.include, self.exclude)
        for root in self.roots:
            if not root.startswith("/"):
                yield "roots", f'"{root}" must begin with a slash'
        if not self.roots:
            yield "roots", 'roots must name a directory; ["/"] is everything'
        if self.image != NAMENODE and not self.image.startswith("/"):
            yield (
                "image",
                f'image must be "{NAMENODE}", or the path of a file or directory, beginning with a slash',
            )
        if self.keytab and not self.principal:
            yield "keytab", "keytab needs a principal"
        for name in ("timeout_s", "complete_every_s", "inodes_in_split"):
            if not getattr(self, name) > 0:
                yield name, f"{name} must be more than 0"
        if self.image_memory_bytes < 1 << 26:
            yield "image_memory_bytes", "image_memory_bytes must be at least 67108864 (64 MiB)"

    @property
    def local(self) -> bool:
        # Hadoop's client is a Java child that needs jars and configuration files on this machine. The image is also on
        # this machine.
        return True

    # -- plan ----------------------------------------------------------------------------------------------------------

    def plan(self, positions: Positions) -> Plan:
        """Return the plan of a run. If nothing has changed, this costs only a few small calls."""
        saved = saved_in(positions.values)
        planning = HdfsPlanning(self.source, self._filters, self.sidecars, self._spool, positions.now_ms)
        here = self._namespace()
        another = why_another(saved.namespace, here)
        before = Saved() if another else saved
        try:
            if self.events:
                plan = self._plan_by_events(planning, before, here, another, complete=positions.complete)
            else:
                because = another or "events is false"
                plan = self._plan_by_images(planning, before, here, because, complete=positions.complete)
        except HdfsRefused as refused:
            because = f"{another}; {refused}" if another else str(refused)
            plan = self._plan_by_images(planning, before, here, because, complete=positions.complete)
        read = (split.transaction for split in plan.splits if isinstance(split, ImageSplit))
        spool.clear(self._spool, keep=next(read, None))
        ids = before.namespace.with_known(here).positions(saved.namespace)
        if plan.splits and positions.values.get(ENTRIES) != self.entries:
            # Tells users of the index whether it would contain a given file.
            ids = (*ids, Position(ENTRIES, self.entries))
        return replace(plan, positions=(*plan.positions, *ids)) if ids else plan

    def _namespace(self) -> NamespaceIds:
        """Return the ids known before reading: the ids of a local image, or the NameNode's cluster and block pool ids."""
        if self.image != NAMENODE and not self.events:
            return local_image(self.image).namespace
        try:
            cluster_id, block_pool_id = hdfs(self._address).namespace()
        except HdfsRefused:
            return NamespaceIds()
        return NamespaceIds(0, cluster_id, block_pool_id)

    def _plan_by_events(
        self, planning: HdfsPlanning, saved: Saved, here: NamespaceIds, another: str, *, complete: bool
    ) -> Plan:
        client = hdfs(self._address)
        newest, followed = client.transaction(), saved.transaction
        if newest < 0:
            raise HdfsUnavailable(f"{self.url}: the NameNode is becoming active")
        restored = ""
        if followed is not None and newest < followed:
            restored = (
                f"the NameNode was restored: it is at transaction {newest}, {followed} was followed already"
            )
        elif followed is not None:
            restored = why_not_continued(client, saved.edits)
        if another:
            because = another
        elif restored:
            because, saved = restored, replace(saved, rounds=())
        elif followed is None:
            because = "it is the first run with these settings"
        elif complete:
            because = "it was requested"
        elif self._overdue(planning, saved) and self._has_newer_image(saved):
            because = f"the last one is more than {self.complete_every_s} s old"
        elif newest == followed:
            return Plan()
        else:
            try:
                touched, through, last = follow(client, planning, followed)
            except MissingEvents as missing:
                return self._plan_after_gap(planning, saved, here, newest, missing)
            return plan_touched(planning, saved, touched, through, last.position() or saved.edits)
        return self._plan_whole(planning, saved, here, newest, because)

    def _plan_after_gap(
        self, planning: HdfsPlanning, saved: Saved, here: NamespaceIds, newest: int, missing: MissingEvents
    ) -> Plan:
        missed = saved.missed + 1
        # After a first gap, navlin itself may have been down. A second gap means that it will keep happening.
        note = f"{missing}; {RAISE}" if missed > 1 else str(missing)
        return self._plan_whole(planning, saved, here, newest, note, missed=missed)

    def _plan_whole(
        self,
        planning: HdfsPlanning,
        saved: Saved,
        here: NamespaceIds,
        newest: int,
        because: str,
        *,
        missed: int = 0,
    ) -> Plan:
        """Return a plan to read the newest image. If images are refused although events are not, the plan lists the
        roots instead and follows events from ``newest`` on. After a gap (``missed``), the plan is empty until there is
        a newer image.
        """
        note = f"full listing: {because}"
        try:
            image = self._newest_image(saved.namespace.with_known(here))
        except HdfsRefused as refused:
            reason = f"{note}; {refused}; so {', '.join(self.roots)} is listed"
            edits = edits_before(hdfs(self._address), newest)
            return plan_listing(
                planning, saved, self.roots, reason, through=newest, missed=missed, edits=edits
            )
        if missed and image.transaction <= (saved.transaction or 0):
            return Plan(
                note=f"{because}; waiting for a newer image than that of transaction {image.transaction}"
            )
        edits = edits_before(hdfs(self._address), image.transaction)
        return plan_image(planning, saved, image, note, missed=missed, edits=edits)

    def _plan_by_images(
        self, planning: HdfsPlanning, saved: Saved, here: NamespaceIds, because: str, *, complete: bool
    ) -> Plan:
        """Return a plan without events: read every newer image whole or, if images are refused, list the roots at
        every run.
        """
        try:
            image = self._newest_image(saved.namespace.with_known(here))
        except HdfsRefused as refused:
            reason = f"{because}; {refused}; so {', '.join(self.roots)} is listed at every run"
            return plan_listing(planning, saved, self.roots, reason)
        same = image.transaction == saved.image
        if same and image.md5 and saved.image_md5 and image.md5 != saved.image_md5:
            because += (
                f"; the NameNode was restored: its image of transaction {saved.image} is another than before"
            )
            same, saved = False, replace(saved, rounds=())
        # An older image may come from a NameNode that lags or was restored, so it is read only if a complete
        # read is overdue.
        older = image.transaction < saved.image and not self._overdue(planning, saved)
        if (same or older) and not complete:
            return Plan(note=f"{because}; there is no newer image than that of transaction {saved.image}")
        note = f"full listing: {because}; every newer image is read as a whole"
        return plan_image(planning, saved, image, note, follow=False)

    def _newest_image(self, of: NamespaceIds) -> OfferedImage:
        """Return the newest image. Raises HdfsError if a local image does not belong to the followed namespace,
        ``of``.
        """
        if self.image == NAMENODE:
            return OfferedImage(*hdfs(self._address).offered_image(), NamespaceIds())
        image = local_image(self.image)
        if unlike := of.unlike(image.namespace):
            raise HdfsError(f"{self.image}: the image is of another HDFS than {self.url}: {unlike}")
        return image

    def _has_newer_image(self, saved: Saved) -> bool:
        try:
            return self._newest_image(saved.namespace).transaction > saved.image
        except HdfsRefused:  # a listing is always newer
            return True

    def _overdue(self, planning: HdfsPlanning, saved: Saved) -> bool:
        return planning.now_ms - saved.complete_ms >= self.complete_every_s * 1000

    # -- read ----------------------------------------------------------------------------------------------------------

    def read(self, split: Split) -> Iterator[Record]:
        match split:
            case ImageSplit():
                yield from read_image(self._image, split, self._fetch)
            case PartSplit(as_of_ms=as_of_ms):
                yield from read_image_part(self._reading(as_of_ms), split)
            case DescribeSplit(paths, as_of_ms):
                yield from read_described(hdfs(self._address), self._reading(as_of_ms), paths)
            case TreeSplit(as_of_ms=as_of_ms):
                yield from read_trees(hdfs(self._address), self._reading(as_of_ms), split)
            case WalkSplit(directories, as_of_ms):
                yield from read_walk(hdfs(self._address), self._reading(as_of_ms), directories)
            case _:
                raise TypeError(f"{split!r} is not a split of an HDFS")

    def _fetch(self, into: Path, report: Callable[[int, int], None]) -> Path:
        return hdfs(self._address).fetch_image(into, report)

    def still_there(self, paths: Sequence[str]) -> Collection[str]:
        statuses = hdfs(self._address).describe([from_tree(path) for path in paths])
        return {path for path, status in zip(paths, statuses, strict=True) if status is not None}

    # -- check ---------------------------------------------------------------------------------------------------------

    def check(self) -> Iterator[str]:
        """Yield lines for ``navlin check``: whether events may be followed, and whether images may be read or the
        roots are listed instead. Raises HdfsNotFound for a missing root.
        """
        client = hdfs(self._address)
        if self.events:
            try:
                newest = client.transaction()
                list(client.events(newest, 1))
                yield f"{self.url} answers, and its events may be followed: it is at transaction {newest}"
            except HdfsRefused as refused:
                yield f"its events may not be followed: every newer image is read as a whole instead ({refused})"
        try:
            newest_image = self._newest_image(NamespaceIds()).transaction
            yield f"the newest image is of transaction {newest_image}"
        except HdfsRefused as refused:
            for root, status in zip(self.roots, client.describe(self.roots), strict=True):
                if status is None:
                    raise HdfsNotFound(
                        f"{self.url}{root}: there is no such directory; correct roots", root
                    ) from refused
            yield f"its image may not be read: {', '.join(self.roots)} is listed instead ({refused})"

    # -- settings ------------------------------------------------------------------------------------------------------

    @property
    def _address(self) -> HdfsAddress:
        return HdfsAddress(
            self.url,
            self.namenodes,
            self.hadoop_configuration_directory,
            self.user,
            self.principal,
            self.keytab,
            self.http,
            cache=f"{self.estate.spool}/java" if self.estate.spool else "",
            timeout_s=self.timeout_s,
            java_options=self.java_options,
        )

    @property
    def _filters(self) -> PathFilters:
        return PathFilters(self.include, self.exclude)

    @property
    def _spool(self) -> Path:
        return spool.spool_of(self.estate, self.source)

    @property
    def _image(self) -> ImageSettings:
        return ImageSettings(self.image, self.image_memory_bytes, self.inodes_in_split)

    def _reading(self, as_of_ms: int) -> HdfsReading:
        claimed = self.entries == "directories"
        return HdfsReading(self.source, self.url, self._filters, claimed, self.sidecars, as_of_ms)
