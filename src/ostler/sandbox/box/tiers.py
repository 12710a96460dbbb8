"""Chooses how a program is confined: the tier of the settings, or for `auto` the strongest that works."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.model.policy.sandbox import Network, Tier

if TYPE_CHECKING:
    from ostler.sandbox.box.bubblewrap import Namespaces
    from ostler.sandbox.containers.arguments import Engine


class ChosenTier(Struct, frozen=True):
    """A tier that works on this machine."""

    tier: Tier  # never auto
    program: str = ""
    namespaces: Namespaces = "user"
    verified: bool = False  # the self-test of a sandbox passed in this process
    reason: str = ""  # why auto found no sandbox

    @property
    def is_sandbox(self) -> bool:
        return self.tier not in ("supervised", "limits")


def choose_tier(
    requested: Tier, environ: Mapping[str, str], network: Network = "proxy", image: str = ""
) -> ChosenTier:
    """Return the tier to use. Raises SANDBOX_UNAVAILABLE when a named tier does not work here."""
    match requested:
        case "auto":
            found = _try_bubblewrap(environ)
            return found if found.verified else ChosenTier("supervised", reason=found.reason)
        case "bubblewrap":
            found = _try_bubblewrap(environ)
            if not found.verified:
                from ostler.sandbox.choice import find_hint  # noqa: PLC0415  (imported on use)

                raise unavailable(requested, found.reason, find_hint(found.reason))
            return found
        case "supervised" | "limits":
            return ChosenTier(requested)
        case "landlock":
            from ostler.sandbox.box.landlock_self_test import why_landlock_fails  # noqa: PLC0415  (imported on use)

            if reason := why_landlock_fails(network):
                raise unavailable(requested, reason, "use another tier")
            # Weaker than the others: it never allows an agent to skip its permission checks.
            return ChosenTier(requested)
        case "docker" | "podman":
            return _try_container(requested, environ, image)


def has_been_tested(requested: Tier) -> bool:
    """Return whether bubblewrap was tested in this process, so that choosing the tier starts no program."""
    if requested not in ("auto", "bubblewrap"):
        return False
    from ostler.sandbox.box.self_test import why_bubblewrap_fails  # noqa: PLC0415  (imported on use)

    return why_bubblewrap_fails.cache_info().currsize > 0


def _try_container(engine: Engine, environ: Mapping[str, str], image: str) -> ChosenTier:
    from ostler.sandbox.containers.self_test import why_container_fails  # noqa: PLC0415  (imported on use)

    program = shutil.which(engine, path=environ.get("PATH"))
    if program is None:
        raise unavailable(engine, f"{engine} is not installed", f"install {engine}")
    if not image:
        hint = "set sandbox.image to an image that has python3 and the agent"
        raise unavailable(engine, "sandbox.image is not set", hint)
    if reason := why_container_fails(engine, program, image):
        hint = f"check the image with: {engine} run --rm --entrypoint python3 {image} --version"
        raise unavailable(engine, reason, hint)
    return ChosenTier(engine, program, verified=True)


def unavailable(tier: Tier, reason: str, hint: str) -> OstlerError:
    return OstlerError(
        Code.SANDBOX_UNAVAILABLE,
        f'sandbox.tier is "{tier}", but {reason}',
        f'{hint}, or set sandbox.tier = "auto" in ostler.toml',
    )


def _try_bubblewrap(environ: Mapping[str, str]) -> ChosenTier:
    from ostler.sandbox.box.self_test import why_bubblewrap_fails  # noqa: PLC0415  (imported on use)
    from ostler.sandbox.bubblewrap import find_bubblewrap  # noqa: PLC0415  (imported on use)

    program = find_bubblewrap(environ)
    if program is None:
        return ChosenTier("bubblewrap", reason="bubblewrap is not installed")
    reason = why_bubblewrap_fails(program, "user")
    if not reason:
        return ChosenTier("bubblewrap", program, verified=True)
    # Root needs no user namespace, which some machines refuse.
    if os.geteuid() == 0 and not why_bubblewrap_fails(program, "root"):
        return ChosenTier("bubblewrap", program, "root", verified=True)
    return ChosenTier("bubblewrap", program, reason=f"{program}: {reason}")
