"""Why models of other accounts are not used at a limit, for `ostler models`."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.calls.models.rotation import explain_rotation, find_other_account
from ostler.calls.models.selector import list_preceding
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.project.project import Project
from ostler.views.models import ModelView


def describe_rotation(project: Project, views: Sequence[ModelView]) -> str:
    """Return which ready models are not used instead of limited ones; empty if there are none."""
    settings = project.settings
    limited = [view.config for view in views if view.status.state == "limited"]
    if settings.limits.rotate_accounts or not limited:
        return ""
    pool = ModelPool(tuple(view.config for view in views))

    def find_reason(model: ModelConfig) -> ModelConfig | None:
        before = list_preceding(model, pool, settings.selection)
        return find_other_account(model, [one for one in limited if one in before], settings.executors)

    ready = [view.config for view in views if view.status.state == "ready"]
    found = [(one.name, find_reason(one)) for one in ready]
    return "\n".join(f"{name}: {explain_rotation(other)}" for name, other in found if other)
