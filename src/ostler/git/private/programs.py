"""The programs that git starts inside a sandbox instead of a connection to a remote: they refuse it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

SSH_PROGRAM = "ostler-refused-ssh"
_HELPER = "git-remote-ostler-refused"
_REPORT = "report_refusal.py"
PUSH_REFUSED = "Ostler publishes this branch after its gates; a push is not possible inside the task."
_FETCH_REFUSED = "Only http and https remotes can be fetched inside the task: use those, or the files here."

_START = """\
#!/bin/sh
refuse() {{
    echo "$1" >&2
    if [ -x {python} ]; then {python} -I -S {report} "$2" "$3"; fi
    exit 1
}}
"""
_HELPER_TEXT = """\
# A remote helper of git: $1 is the name or address of the remote, $2 its address.
while read -r line; do
    case "$line" in
    capabilities) printf 'fetch\\npush\\n\\n' ;;
    "list for-push") refuse {push} push "$1" ;;
    *) refuse {fetch} file "$2" ;;
    esac
done
"""
_SSH_TEXT = """\
# Called as ssh: options, the host, and the command for it.
host=
for part in "$@"; do
    case "$part" in
    *git-receive-pack*) refuse {push} push "$host" ;;
    -*) ;;
    *) host=$part ;;
    esac
done
{otherwise}
"""
_REPORT_TEXT = '''\
"""Reports a refusal to the proxy of the sandbox; without a proxy it does nothing."""

import http.client
import json
import os
import re
import sys
import urllib.parse


def main(kind: str, target: str) -> None:
    proxy = urllib.parse.urlsplit(os.environ.get("http_proxy") or os.environ.get("HTTP_PROXY") or "")
    if proxy.hostname != "127.0.0.1" or not proxy.port:
        return
    shown = re.sub(r"//[^/\\s]*@", "//", target)[:300]
    body = json.dumps({"kind": kind, "target": shown})
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=2)
    connection.request("POST", "/.ostler/refusal", body, {"Content-Type": "application/json"})
    connection.getresponse().read()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except (OSError, http.client.HTTPException, ValueError):
        sys.exit(0)  # git shows the refusal itself
'''


def write_programs(folder: Path, *, allows_fetch: bool = False) -> None:
    """Write the programs to a directory; with `allows_fetch` ssh works for everything except a push."""
    folder.mkdir(mode=0o700, exist_ok=True)
    otherwise = 'exec ssh "$@"' if allows_fetch else f'refuse {shlex.quote(_FETCH_REFUSED)} file "$host"'
    texts = {_HELPER: _HELPER_TEXT, SSH_PROGRAM: _SSH_TEXT}
    for name, text in texts.items():
        filled = text.format(
            push=shlex.quote(PUSH_REFUSED), fetch=shlex.quote(_FETCH_REFUSED), otherwise=otherwise
        )
        write_once(folder / name, _start() + filled, 0o700)
    write_once(folder / _REPORT, _REPORT_TEXT, 0o600)


def _start() -> str:
    python = shlex.quote(os.path.realpath(sys.executable))
    return _START.format(python=python, report=f'"$(dirname "$0")"/{_REPORT}')


def write_once(path: Path, text: str, mode: int) -> None:
    """Write a program unless it has this text: a running agent may execute it."""
    try:
        if path.read_text() == text:
            return
    except FileNotFoundError:
        pass
    path.write_text(text)
    path.chmod(mode)
