"""Makes runnable sources from the configuration: loads the extractors, determines the identity of each source, and
builds the estate.

This is the only core module that names the package ``extractors``. Neither this module nor the modules that import it
name a module of that package. Third-party packages add extractors through the entry point group `GROUP`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.index.graph.sources import KnownSource
from navlin.model.extractor import EXTRACTORS, PULL, Extractor, Registration
from navlin.model.source import DEFAULT_AUTHORITY, Estate, Source, adoption_key, source_id
from navlin.service.settings.configuration import Configuration, SourceSettings

GROUP: Final = "navlin.extractors"
"""The entry point group in which an installed package names modules (or classes) that register extractors."""


class ExtractorNotLoaded(Exception):
    """An installed package names an extractor that cannot be imported, or whose name is taken."""


def load_extractors() -> Mapping[str, Registration]:
    """Import navlin's extractors and those of installed packages, so that each registers itself. Return name →
    registration.

    Raises `ExtractorNotLoaded`.
    """
    package = importlib.import_module("extractors")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"extractors.{module.name}")
    for entry in importlib.metadata.entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:  # a third-party module may raise anything
            of = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
            raise ExtractorNotLoaded(
                f'the extractor "{entry.name}" of the package {of} cannot be loaded: {type(error).__name__}: {error};'
                " fix the package or uninstall it"
            ) from error
    return EXTRACTORS


def modules_of_others() -> tuple[str, ...]:
    """Return the top-level modules of installed third-party packages that contain extractors."""
    entries = importlib.metadata.entry_points(group=GROUP)
    return tuple(sorted({entry.module.partition(".")[0] for entry in entries}))


class SharedIdentity(Exception):
    """Two sources would have the same identity."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configured source, ready to run."""

    settings: SourceSettings
    extractor: Extractor

    @property
    def source(self) -> Source:
        return self.extractor.source

    @property
    def name(self) -> str:
        return self.settings.name


@dataclass(frozen=True, slots=True)
class ConfiguredSources:
    """All configured sources, in the order of the configuration, and the estate that they form."""

    estate: Estate
    sources: tuple[Loaded, ...]

    def named(self, name: str) -> Loaded | None:
        return next((loaded for loaded in self.sources if loaded.name == name), None)


def load(configuration: Configuration, known: Sequence[KnownSource]) -> ConfiguredSources:
    """Build the configured sources and their extractors. ``known`` are the sources in the index; a configured source
    keeps the identity that it has in the index.

    A source is identified in the index by its name, or else by an authority that it serves. So a renamed source remains
    the same source, and a source that is configured late takes over the placeholders in its place.
    """
    cluster = configuration.navlin.cluster
    here = [source for source in known if source.cluster == cluster]
    ids = _identities(configuration.sources, cluster, here)
    sources = tuple(
        Source(
            ids[settings.name],
            settings.registration.source_type,
            settings.name,
            cluster,
            settings.serves,
            settings.serves[0] if settings.serves else "",
            claimable=_claimable(settings),
        )
        for settings in configuration.sources
    )
    spool = str(configuration.navlin.state_directory / "spool")
    masks = configuration.redaction.literals == "all"
    estate = Estate(cluster, sources, _adopted(sources, cluster, here), spool, masks_literals=masks)
    return ConfiguredSources(
        estate,
        tuple(
            Loaded(settings, _placed(settings.template, source, estate))
            for settings, source in zip(configuration.sources, sources, strict=True)
        ),
    )


def _placed(template: Extractor, source: Source, estate: Estate) -> Extractor:
    dataclass_instance: Any = template
    placed: Extractor = replace(dataclass_instance, source=source, estate=estate)
    return placed


def _identities(
    sources: Sequence[SourceSettings], cluster: str, known: Sequence[KnownSource]
) -> dict[str, str]:
    """Return name → id of every source. Raises `SharedIdentity`."""
    ids: dict[str, str] = {}
    # First match all sources by name, so that two sources that swapped authorities keep their identities.
    for settings in sources:
        for source in known:
            if (source.type, source.name, source.placeholder) == (_type(settings), settings.name, False):
                ids[settings.name] = source.id
    for settings in sources:
        if settings.name not in ids:
            found = _answering(settings, sources, known, taken=ids.values())
            ids[settings.name] = found.id if found else source_id(cluster, settings.name)
    holders: dict[str, str] = {}
    for name, identity in ids.items():
        if other := holders.get(identity):
            raise SharedIdentity(
                f'the sources "{other}" and "{name}" would be the same source in the index, because "{other}" took over what'
                f' was granted under the name "{name}"; give "{name}" another name'
            )
        holders[identity] = name
    return ids


def _answering(
    settings: SourceSettings,
    sources: Sequence[SourceSettings],
    known: Sequence[KnownSource],
    *,
    taken: Iterable[str],
) -> KnownSource | None:
    """Return the source in the index that serves an authority of the configured source; None if there is none. A source
    that owns the authority takes precedence over a placeholder."""
    of_type = [source for source in known if source.type == _type(settings) and source.id not in set(taken)]
    authorities = list(settings.serves)
    if [other for other in sources if _type(other) == _type(settings) and _claimable(other)] == [settings]:
        authorities.append(DEFAULT_AUTHORITY)
    for placeholder in (False, True):
        for authority in authorities:
            for source in of_type:
                if source.placeholder is placeholder and authority in source.serves:
                    return source
    return None


def _adopted(sources: Sequence[Source], cluster: str, known: Sequence[KnownSource]) -> dict[str, str]:
    """Return `Estate.adopted`: key → source id for claims on authorities that no configured source serves."""
    configured_ids = {source.id for source in sources}
    adopted: dict[str, str] = {}
    # Owners come last, so that they take precedence.
    for source in sorted(known, key=lambda source: not source.placeholder):
        if source.id not in configured_ids:
            for authority in source.serves:
                adopted[adoption_key(source.type, authority)] = source.id
    for source_type in {source.type for source in known} | {source.type for source in sources}:
        configured = [source for source in sources if source.type == source_type and source.claimable]
        unnamed = adoption_key(source_type, DEFAULT_AUTHORITY)
        if not configured:
            # The only source of a type gets the claims without an authority, even after it was removed from the
            # configuration.
            of_type = [source for source in known if source.type == source_type]
            former = [source for source in of_type if source.serves and not source.placeholder]
            if len(former) == 1:
                adopted[unnamed] = former[0].id
        elif adopted.get(unnamed, source_id(cluster, source_type.lower())) in configured_ids:
            # If there are two sources, a claim without an authority belongs to neither, not even to the one that once
            # adopted such claims.
            adopted[unnamed] = source_id(cluster, f"{source_type.lower()} without an address")
    return adopted


def _type(settings: SourceSettings) -> str:
    return settings.registration.source_type


def _claimable(settings: SourceSettings) -> bool:
    """Whether other sources may claim entities of this source. False for push sources, which follow an engine's
    files."""
    return settings.registration.mode is PULL
