"""Settings of a cluster that have no effect, or that show a password to others."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.config.secrets.hidden import list_passwords
from ostler.config.source import DEFAULT
from ostler.errors import Problem
from ostler.project.inspection.setup import Setup


def find_cluster_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each setting of [engine] that is not used, and for a password in ostler.toml."""
    if setup.settings.engine.kind == "local":
        names = (name for name in setup.settings.engine.__struct_fields__ if name != "kind")
        for key in (f"engine.{name}" for name in names):
            if setup.loaded.sources.get(key, DEFAULT) != DEFAULT:
                yield setup.problem(key, 'it has no effect while engine.kind is "local"', "warning")
    source = setup.loaded.sources.get("store.url", DEFAULT)
    if source.layer == "project file" and list_passwords(setup.settings.store.url):
        why = "it contains a password; set OSTLER_STORE__URL, or use ~/.pgpass"
        yield setup.problem("store.url", why, "warning")
