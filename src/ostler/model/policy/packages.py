"""The packages of the extra `cluster`, which a project on one machine does not need."""

from __future__ import annotations

from ostler.errors import UsageError

INSTALL_CLUSTER = "pip install 'ostler[cluster]'"


class PackageMissing(UsageError):
    """A setting needs a package that is not installed."""

    def __init__(self, setting: str, package: str, error: ImportError) -> None:
        super().__init__(f"{setting} needs the package {package}: {error}", INSTALL_CLUSTER)
