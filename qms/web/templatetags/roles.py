"""Template filters about roles."""

from __future__ import annotations

from django import template

from qms.roles.roles import Role

register = template.Library()


@register.filter
def role_label(code: str) -> str:
    """Return the translated name of a role code."""
    return str(Role(code).label)
