"""Images of a change, of few fixed types."""

from __future__ import annotations

import re

from msgspec import Struct

from ostler.errors import UsageError
from ostler.git.compare.blobs import read_blob
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews.changes import require_blob

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
_LONGEST_IMAGE = 32 * 1024 * 1024
_SVG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*|<!DOCTYPE\s+svg[^>\[]*>\s*)*<svg[\s>]",
    re.DOTALL | re.IGNORECASE,
)
_SVG_HEAD = 4096


class UnknownImage(UsageError):
    """The content has none of the types that are shown."""


class Image(Struct, frozen=True):
    data: bytes
    media_type: str


def read_image(project: Project, task: TaskId, blob: str) -> Image:
    """Return an image of the task's changes. Raises NotInChanges and UnknownImage."""
    repository, size = require_blob(project, task, blob)
    if size > _LONGEST_IMAGE:
        raise UnknownImage(
            f"the image is larger than {_LONGEST_IMAGE // 2**20} MiB", "open it in the worktree"
        )
    data = read_blob(repository, blob, _LONGEST_IMAGE)
    media_type = find_image_type(data)
    if not media_type:
        raise UnknownImage("the content is no PNG, JPEG, GIF, WebP or SVG image", "open it in the worktree")
    return Image(data, media_type)


def find_image_type(data: bytes) -> str:
    """Return the media type of an image, by its first bytes; empty for any other content."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/svg+xml" if _SVG.match(data[:_SVG_HEAD]) else ""
