"""Imports that are right in one place and wrong everywhere else; bans without a place stand in ruff."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import OUR_CODE, ROOT, files, imports, is_below, matches, module, tree

HTTP_HOMES = (
    "qms.web",
    "qms.api",
    "pilots.views",
    "pilots.views_*",
    "pilots.urls",
    "pilots.templatetags",
    "qms.config.urls",
)
ONLY_IN = {
    "django.http": (*HTTP_HOMES, "qms.roles.accounts"),
    "django.shortcuts": HTTP_HOMES,
    "django.template": (*HTTP_HOMES, "qms.signing.render"),
    "django.db.models.signals": ("qms.audit.apps", "qms.roles.apps"),
    "subprocess": (
        "qms.core.backup_database",  # pg_dump and pg_restore
        "qms.core.isolation",
        "qms.core.restore",  # checks restored data in a process that runs on them
        "qms.core.supervisor",
        "pilots.baseline.measure_graph",  # a fresh process per repetition, at the side of the person who measures
        "pilots.demo_cases",  # the measuring command, as its users start it
        "pilots.demo_output",
        "pilots.graph.cli.origin",  # asks git, at the side of the person who captures
        "pilots.management.commands.demo",
    ),
    "celery": ("qms.core.tasks", "qms.core.health_checks", "qms.config.celery"),
    "kombu": ("qms.core.dispatch", "qms.core.health_checks"),
    "environ": ("qms.config.env",),
    "ctypes": ("qms.core.libraries", "qms.core.tether", "pilots.baseline"),
    "multiprocessing": (),
    "asyncio": ("qms.signing",),
    "sqlite3": ("qms.core.backup_database", "qms.audit"),
    "requests": (),
    "urllib.request": ("qms.signing.timestamps", "qms.signing.tsa_client"),
    "time.sleep": (),
}
NEVER_IN = {
    "django.db": ("*.rules", "*.transitions"),
    "django": (
        "*.rules_pure",
        "pilots.graph",
        "pilots.wafer",
        "pilots.cluster",
        "pilots.baseline",
        "pilots.economics",
        "qms.core.values",
        "qms.core.canonical",
    ),
}


def found(banned, is_wrong):
    return [
        f"{path}:{line} {name}"
        for path in files(*OUR_CODE)
        for name, line in imports(path)
        if is_below(name, banned) and is_wrong(module(path))
    ]


@pytest.mark.parametrize("banned", sorted(ONLY_IN))
def test_import_stays_in_its_home(banned):
    assert found(banned, lambda name: not matches(name, ONLY_IN[banned])) == []


@pytest.mark.parametrize("banned", sorted(NEVER_IN))
def test_import_stays_out(banned):
    assert found(banned, lambda name: matches(name, NEVER_IN[banned])) == []


def test_nothing_sleeps():
    """Neither code nor tests wait for a fixed time; tests poll with `tests.waiting`, the demo polls the real service."""
    calls = [
        f"{path}:{node.lineno}"
        for path in files(*OUR_CODE, "tests")
        if path.as_posix() != "pilots/management/commands/demo.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) in {"sleep", "wait_for_timeout"}
    ]
    assert calls == []


def test_packages_on_the_way_to_pure_code_have_an_empty_init():
    """Python runs each `__init__` on the way down, which no import contract sees."""
    folders = ["qms", "qms/core", "qms/signing", "pilots"]
    assert {name: (ROOT / name / "__init__.py").read_text() for name in folders} == dict.fromkeys(folders, "")
