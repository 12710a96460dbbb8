"""The package indexes of a sandbox as text."""

from __future__ import annotations

from urllib.parse import urlsplit

from ostler.sandbox.network.indexes.found import Indexes


def describe_indexes(indexes: Indexes) -> list[str]:
    """Return one line for each index, then where files are, what is mounted and copied, and the notes."""
    own = {urlsplit(url).hostname for _, url in indexes.urls}
    more = [host for host in indexes.hosts if host.rpartition(":")[0] not in own and host not in own]
    lines = [f"{kind}: {url}" for kind, url in indexes.urls]
    lines += [f"{title}: {', '.join(values)}" for title, values in _list_parts(indexes, more) if values]
    return lines + [f"note: {note}" for note in indexes.notes]


def _list_parts(indexes: Indexes, hosts: list[str]) -> list[tuple[str, list[str]]]:
    return [
        ("hosts of files", hosts),
        ("ports on this machine", [str(port) for port in indexes.local_ports]),
        ("read-only directories", [str(path) for path in indexes.directories]),
        ("settings files in HOME, without secrets", sorted(indexes.files)),
    ]
