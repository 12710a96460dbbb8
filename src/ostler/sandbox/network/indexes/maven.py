"""The repositories of Maven: its settings, the project's and the default of the installation."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from ostler.sandbox.network.indexes.address import hide_secrets
from ostler.sandbox.network.indexes.found import Found, Index, join_found
from ostler.sandbox.network.indexes.tools import Tools
from ostler.secrets.find import find_secrets

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PLACE = re.compile(r"<(mirror|repository|pluginRepository)>.*?</\1>", re.DOTALL)
_URL = re.compile(r"<url>\s*(\w+://[^<\s]+)\s*</url>")
_SECRETS = re.compile(r"<(servers|proxies)>.*?</\1>|<localRepository>.*?</localRepository>", re.DOTALL)
_BLOCKED = "<blocked>true</blocked>"
_DEFAULTS = "org/apache/maven/model/pom-4.0.0.xml"
_MAX_BYTES = 1024 * 1024


def find_maven(tools: Tools) -> Found:
    """Return the repositories; nothing where Maven is not installed."""
    program = tools.find("mvn")
    if program is None:
        return Found()
    installed = Path(program).resolve().parent.parent
    own = tools.home / ".m2" / "settings.xml"
    files = [own, installed / "conf" / "settings.xml", tools.cwd / "pom.xml"]
    texts = [_read(path) for path in files]
    found = [_find_urls(text) for text in (*texts, _read_defaults(installed))]
    return join_found([*found, Found(watched=tuple(files)), _copy(own, texts[0])])


def _find_urls(text: str) -> Found:
    # The installation blocks plain HTTP by a mirror that leads nowhere.
    places = [match[0] for match in _PLACE.finditer(_COMMENT.sub("", text)) if _BLOCKED not in match[0]]
    return Found(tuple(Index("maven", match[1]) for one in places for match in _URL.finditer(one)))


def _read_defaults(installed: Path) -> str:
    """Return the model that every project inherits, which names the central repository."""
    for archive in sorted((installed / "lib").glob("maven-model-builder*.jar")):
        try:
            with zipfile.ZipFile(archive) as file, file.open(_DEFAULTS) as model:
                return model.read(_MAX_BYTES).decode("utf-8", "replace")
        except (OSError, KeyError, zipfile.BadZipFile):
            continue
    return ""


def _copy(place: Path, text: str) -> Found:
    """Return the settings of the user without servers, which hold passwords, and proxies."""
    plain = _COMMENT.sub("", text)
    cleaned = hide_secrets(_SECRETS.sub("", plain))
    if not cleaned.strip():
        return Found()
    notes = (
        (f"{place}: left out of the sandbox, because they are secrets: servers",)
        if "<servers>" in plain
        else ()
    )
    if find_secrets(cleaned.encode()):
        return Found(notes=(f"{place}: left out of the sandbox, because it holds a secret",))
    return Found(files=((place, cleaned.encode()),), notes=notes)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
