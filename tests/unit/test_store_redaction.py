"""The journal redacts what a caller did not."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from journal_values import TASK, make_attempt, make_record, make_row
from ostler.model.event import TaskClaimed
from ostler.model.notice import AgentWarned
from ostler.store.sqlite.journal import SqliteJournal

TOKEN = "ghp_" + "Q7w9" * 9


def test_no_table_gets_a_secret(tmp_path: Path) -> None:
    """Neither a record, nor the row with the state, nor a notice, nor an attempt; ids of sessions stay."""
    session = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    path = tmp_path / "ostler.db"
    with SqliteJournal(path, create=True) as journal:
        row = replace(make_row(), title=f"Use {TOKEN}", state=f'{{"message":"{TOKEN}"}}'.encode())
        journal.append(make_record(event=TaskClaimed(TOKEN)), row, [AgentWarned(f"printed {TOKEN}")])
        number = journal.begin_attempt(replace(make_attempt(), session_id=session))
        journal.end_attempt(replace(make_attempt(), number=number, session_id=session, message=TOKEN))
        found = journal.row(TASK)
        assert found is not None and found.title == "Use [redacted:github-token]"
        assert found.state == b'{"message":"[redacted:github-token]"}'
        assert journal.attempts(TASK)[0].session_id == session
    files = [file.read_bytes() for file in tmp_path.iterdir()]
    assert sum(data.count(b"[redacted:github-token]") for data in files) >= 5
    assert not any(TOKEN.encode() in data for data in files)
