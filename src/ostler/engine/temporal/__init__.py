"""The driver of a cluster: workers of several machines that share a Temporal server."""

from ostler.model.policy.packages import PackageMissing

try:
    import temporalio  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as error:
    raise PackageMissing('engine.kind = "temporal"', "temporalio", error) from None
