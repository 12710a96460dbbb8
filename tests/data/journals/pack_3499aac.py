"""Pack the project that make_3499aac.py made: one archive, and a manifest of its content."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tarfile
import time
from pathlib import Path

import apsw

from ostler.model.event import Event
from ostler.model.notice import Notice
from world import World

PLACEHOLDER = "@FIXTURE@"  # replaces the directory that holds the project's directory
LEFT_OUT = (
    "*.lock",
    "locks",
    "runs",
    "hooks",
    "logs",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "ostler.db-*",
    "ostler.db.*",
    "*.jsonl.stderr",
)


def pack(made: World, tasks: dict[str, str], out: Path, added: list[str]) -> None:
    """Write the project without its locks, hooks and logs, with the placeholder instead of its directory."""
    made.git("gc", "-q", "--prune=now")
    database = made.root / ".ostler" / "ostler.db"
    here = str(made.root.parent)
    db = apsw.Connection(str(database))
    for table, column in (("feed", "body"), ("task", "state"), ("attempt", "body"), ("outbox", "body")):
        text = f"replace(CAST({column} AS TEXT), ?, ?)"
        db.execute(f"UPDATE {table} SET {column} = CAST({text} AS BLOB)", (here, PLACEHOLDER))
    counted = dict(db.execute("SELECT type, count(*) FROM feed GROUP BY type").fetchall())
    version = db.execute("PRAGMA user_version").fetchall()[0][0]
    tags = {str(kind.__struct_config__.tag) for kind in (*Event.__args__, *Notice.__args__)}
    stages = dict(db.execute("SELECT id, json_extract(CAST(state AS TEXT), '$.stage') FROM task").fetchall())
    rows = {
        table: db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        for table in ("feed", "task", "attempt", "limit_window", "breaker", "repeat", "reader", "outbox")
    }
    shown = {name: made.show(task) for name, task in tasks.items()}
    statuses = dict(db.execute("SELECT id, status FROM task").fetchall())
    _shrink(db)
    manifest = {
        "commit": "3499aac",
        "made_at": time.time(),
        "schema_version": version,
        "placeholder": PLACEHOLDER,
        "rows": rows,
        "tags": counted,
        "tags_added_by_hand": added,
        "tags_missing": sorted(tags - set(counted)),
        "tasks": {
            name: {
                "id": tasks[name],
                "status": found["status"],
                "code": found["code"],
                "recorded_status": statuses[tasks[name]],
                "stage": stages[tasks[name]] or "new",
                "attempts": len(found["attempts"]),
            }
            for name, found in sorted(shown.items())
        },
    }
    left = sorted(path.name for path in database.parent.iterdir() if path.name.startswith("ostler.db"))
    assert left == ["ostler.db"], f"a newer program has opened the journal: {left}"
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    with tarfile.open(out / "project.tar.xz", "w:xz", preset=9) as archive:
        for root, prefix in ((made.root, "project"), (made.agents / "sessions", "agents/sessions")):
            for path in sorted(root.rglob("*")):
                _add(archive, path, f"{prefix}/{path.relative_to(root)}", here)


def _shrink(db: apsw.Connection) -> None:
    """Leave one file without a write-ahead log, in write-ahead mode as the program expects it."""
    db.execute("PRAGMA journal_mode = DELETE").fetchall()
    db.execute("VACUUM")
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.close()


def _add(archive: tarfile.TarFile, path: Path, name: str, here: str) -> None:
    if any(part for part in Path(name).parts if any(Path(part).match(one) for one in LEFT_OUT)):
        return
    info = tarfile.TarInfo(name)
    info.mtime, info.mode = 0, path.lstat().st_mode & 0o777
    if path.is_symlink():
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path).replace(here, PLACEHOLDER)
        archive.addfile(info)
    elif path.is_dir():
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
    else:
        data = path.read_bytes().replace(here.encode(), PLACEHOLDER.encode())
        data = re.sub(rb"%b" % re.escape(sys.prefix.encode()), b"/usr", data)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
