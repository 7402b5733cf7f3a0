"""Every address x every role x every relation to the workload: status, rule named, event left, JSON as HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from qms.audit.models import AuditEvent, AuditLeaf
from qms.core import health
from tests.access import rows, table
from tests.access.rows import LOGIN, PEOPLE, PUBLIC, ROLES, SEES_WORKLOAD, WORKLOAD, Act, Row
from tests.access.table import ROWS
from tests.access.world import ACTORS, World, undone

pytestmark = pytest.mark.django_db
MATRIX = json.loads(
    (Path(settings.BASE_DIR) / "qms/gates/rulesets/kompakt-0.2.0.json").read_text(encoding="utf-8")
)["permissions"]
JSON = {"HTTP_ACCEPT": "application/json"}
SIGN_IN = 0  # stands for "sent to the sign-in page"
Expected = tuple[int, str]  # status, id of the rule that refuses


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for item in resolver.url_patterns:
        if isinstance(item, URLResolver):
            yield from _patterns(item)
        else:
            yield item


def test_every_address_stands_in_the_table():
    known = {row.name for row in ROWS} | table.ACCOUNT_PAGES
    found = {pattern.name for pattern in _patterns(get_resolver())}
    assert found - known == set(), "an address without a row in tests/access/table.py"
    assert known - found - {"set_language"} == set(), "a row without its address"
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_account_pages_are_no_pages_of_ours():
    """Exempt are only pages of allauth and their wrappers, whatever name they get."""
    modules = {
        pattern.name: pattern.callback.__module__
        for pattern in _patterns(get_resolver())
        if pattern.name in table.ACCOUNT_PAGES
    }
    allowed = ("allauth.", "qms.web.people_account_views", "django.views.i18n", "qms.web.people_views")
    assert all(module.startswith(allowed) for module in modules.values()), modules


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reading(world: World, row: Row, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "run", lambda **_chosen: [])  # whether this machine is fit is not asked here
    url = f"{reverse(row.name, args=row.args(world))}?{row.query(world)}"
    found, wanted = {}, {}
    for actor in ACTORS:
        with undone():
            response = world.browser(actor).get(url)
            found[actor] = _outcome(response, row.get is None)
            wanted[actor] = _reading(row, actor)
    assert found == wanted


@pytest.mark.parametrize("row", [row for row in ROWS if row.post], ids=lambda row: row.name)
def test_acting(world: World, row: Row):
    url, act = reverse(row.name, args=row.args(world)), row.post
    data = act.data(world)
    found, wanted, machine = {}, {}, {}
    for actor in ACTORS:
        wanted[actor] = _acting(row, act, actor)
        with undone():
            before = AuditLeaf.objects.count()
            found[actor] = _outcome(world.browser(actor).post(url, data))
            _check_event(found[actor], before)
        with undone():
            machine[actor] = _outcome(world.browser(actor).post(url, data, **JSON))
    assert found == wanted
    assert machine == {actor: _as_json(act, outcome) for actor, outcome in wanted.items()}


@pytest.mark.parametrize("row", [row for row in ROWS if row.unknown], ids=lambda row: row.name)
@pytest.mark.parametrize("method", ["get", "post"])
def test_not_there_and_not_yours_look_alike(world: World, row: Row, method: str):
    """Status, body and number of queries say nothing about whether the thing exists."""
    if (method == "get" and row.get is None) or (method == "post" and row.post is None):
        return
    for actor in ACTORS:
        status, _id = _reading(row, actor) if method == "get" else _acting(row, row.post, actor)
        if status not in {403, 404} or (status == 403 and row.scope not in {PEOPLE, LOGIN}):
            continue
        if (row.post and actor in row.post.sod) or (row.scope == PEOPLE and actor in rows.KNOWS_PEOPLE):
            continue  # what concerns the own person, or people for who may read about them, is known
        seen = [_seen(world, actor, method, row, args) for args in (row.args, row.unknown)]
        assert seen[0] == seen[1], f"{actor} learns whether it exists"


def _seen(world: World, actor: str, method: str, row: Row, args: Any) -> tuple[int, str, int]:
    """Return what one answer gives away: pages are read as people do, acts are sent as machines do."""
    url = reverse(row.name, args=args(world))
    data, headers = (row.post.data(world), JSON) if method == "post" else ({}, {})
    with undone(), _queries() as queries:
        response = getattr(world.browser(actor), method)(url, data, **headers)
    return response.status_code, _plain(response.content.decode(), url), len(queries)


def _queries() -> AbstractContextManager[CaptureQueriesContext]:
    return CaptureQueriesContext(connection)


def _plain(body: str, url: str) -> str:
    """Return the page without its own address, its random tokens and the moment it was made in."""
    body = re.sub(r'(X-CSRFToken": |csrfmiddlewaretoken" value=)"[^"]*"', "", body.replace(url, ""))
    return re.sub(r'<time datetime="[^"]*">[^<]*</time>', "", body)


def _reading(row: Row, actor: str) -> Expected:
    if row.get is None:
        return 405, ""
    if actor in {"anonym", "aus"}:
        return (row.get if row.scope == PUBLIC else SIGN_IN), ""
    if not _in_scope(row.scope, actor) or actor in row.hidden:
        return 404, ""
    if row.reading:
        if actor == "dienst":
            return 403, "SoD-16"
        if not set(MATRIX[row.reading].get(ROLES.get(actor, ""), [])) & row.read_letters:
            return 403, row.reading
    return row.get, ""


def _acting(row: Row, act: Act, actor: str) -> Expected:
    if actor in {"anonym", "aus"}:
        return (act.status if row.scope == PUBLIC else SIGN_IN), ""
    if (row.scope == WORKLOAD and actor not in SEES_WORKLOAD) or actor in act.hidden:
        return 404, ""
    refused = _refused(act, actor) if act.permission else ""
    return (403, refused) if refused else (act.status, "")


def _refused(act: Act, actor: str) -> str:
    """Return the rule that refuses the act, in the order of spec 3.5.4: segregation of duties, then permission."""
    if actor == "dienst":
        return "SoD-16"
    letters = set(MATRIX[act.permission].get(ROLES.get(actor, ""), []))
    allowed = letters & act.letters and actor in rows.GRANTS[act.grant]
    return act.sod.get(actor, "" if allowed else act.permission)


def _in_scope(scope: str, actor: str) -> bool:
    known = {WORKLOAD: SEES_WORKLOAD, PEOPLE: rows.KNOWS_PEOPLE}
    return actor in known.get(scope, rows.SIGNED_IN)


def _outcome(response: HttpResponse, no_get: bool = False) -> Expected:
    status = response.status_code
    if no_get and (status == 405 or _to_sign_in(response)):
        return 405, ""
    if _to_sign_in(response):
        return SIGN_IN, ""
    if status != 403:
        return status, ""
    if response["Content-Type"].startswith("application/json"):
        return status, str(response.json()["id"])
    rule = re.search(r"Regel: ([A-Za-z0-9-]+)", response.content.decode())
    return status, rule.group(1) if rule else ""


def _to_sign_in(response: HttpResponse) -> bool:
    return response.status_code == 302 and response["Location"].startswith("/konto/login/?next=")


def _as_json(act: Act, outcome: Expected) -> Expected:
    status, rule = outcome
    if status == act.status == 302:
        return act.json or 200, rule
    return (act.json, rule) if act.json and status == act.status else outcome


def _check_event(outcome: Expected, before: int) -> None:
    """A refusal leaves exactly its event, what is not visible none at all."""
    status, rule = outcome
    left = AuditLeaf.objects.count() - before
    if status in {404, SIGN_IN}:
        assert left == 0
    if status == 403:
        assert left == 1
        event = AuditEvent.objects.order_by("-leaf__seq")[0]
        assert event.kind in {"SOD_VERLETZUNG", "ZUGRIFF_VERWEIGERT"}
        assert json.loads(event.body)["data"]["id"] == rule
