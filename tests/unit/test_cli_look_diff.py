"""The colours of ostler diff."""

from __future__ import annotations

from ostler.cli.commands.look.diff import choose_colours

PATCH = """\
diff --git a/a.sql b/a.sql
--- a/a.sql
+++ b/a.sql
@@ -1,2 +1,2 @@
 select 1
--- the old one
+++ the new one
diff --git a/b.py b/b.py
new file mode 100644"""


def test_the_head_of_a_file_is_no_change() -> None:
    """Also where a removed line begins as a head does."""
    colours = [colour for _, colour in choose_colours(PATCH.split("\n"))]
    assert colours == ["bold", "bold", "bold", "blue", "", "red", "green", "bold", "bold"]
