"""Lists cost the same number of queries however many rows there are; nothing is read per row."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.access.many import add_people, add_workloads
from tests.access.world import World, undone

pytestmark = pytest.mark.django_db
PAGES = [
    *((name, actor) for name in ("start", "workloads", "approvals") for actor in ("owner", "PR", "FG", "AU")),
    *((name, actor) for name in ("audit_log",) for actor in ("owner", "PR", "AU")),
    *(("people_list", actor) for actor in ("AD", "PR")),
    ("audit_export", "AU"),
]


def queries(world: World, actor: str, url: str) -> list[str]:
    browser = world.browser(actor)
    browser.get(url)  # whatever is read once per process is read now
    with CaptureQueriesContext(connection) as captured:
        response = browser.get(url)
    assert response.status_code == 200
    return [row["sql"][:160] for row in captured.captured_queries]


def compare(few: list[str], many: list[str]) -> None:
    extra = [sql for sql in many if many.count(sql) > few.count(sql)]
    assert len(few) == len(many), "\n".join([f"{len(few)} queries became {len(many)}:", *extra[:20]])


@pytest.fixture
def crowded(world: World) -> Any:
    """Return a function that measures a page with 25 and with 100 more rows of everything."""

    def measure(name: str, actor: str) -> tuple[list[str], list[str]]:
        found = []
        for count in (25, 100):
            with undone():
                accounts = world.accounts
                add_workloads(count, owner=accounts["owner"], deputy=accounts["stellv"])
                add_people(count, requested_by=accounts["AD"])
                found.append(queries(world, actor, reverse(name)))
        return found[0], found[1]

    return measure


@pytest.mark.parametrize(("name", "actor"), PAGES)
def test_list_costs_the_same_for_25_and_100_rows(crowded: Any, name: str, actor: str):
    compare(*crowded(name, actor))


@pytest.mark.parametrize("name", ["workloads", "approvals", "start"])
def test_second_page_costs_no_more_than_the_first(world: World, name: str):
    add_workloads(60, owner=world.accounts["owner"], deputy=world.accounts["stellv"])
    url = reverse(name)
    first = world.browser("owner").get(url)
    after = first.context.get("next_after")
    if after is not None:
        assert len(queries(world, "owner", f"{url}?after={after}")) <= len(queries(world, "owner", url)) + 1


@pytest.mark.parametrize("name", ["workload", "approval", "approval_review", "approval_decide", "evidence"])
def test_page_of_one_case_does_not_depend_on_the_others(world: World, name: str):
    things = {
        "workload": world.workloads["frei"],
        "approval": world.approvals["frei"],
        "approval_review": world.approvals["eingereicht"],
        "approval_decide": world.approvals["reif"],
        "evidence": world.extras["evidence"],
    }
    url = reverse(name, args=[things[name].pk])
    few = queries(world, "FG", url)
    add_workloads(40, owner=world.accounts["fremd"], deputy=world.accounts["stellv"])
    compare(few, queries(world, "FG", url))
