"""A house whose workload has a capture, with a finished baseline and a finished target run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.urls import reverse

from pilots import demo
from pilots.graph.capture import to_bytes
from pilots.models import Run
from qms.core import jobs, store
from qms.workloads.choices import Level
from qms.workloads.services.model_file import set_model_file
from tests.pilots.graph.captures import perceptron
from tests.walk import World, house, platform, screen

DATA = to_bytes(perceptron())
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The house of a module; its runs are started through the browser."""
    with django_db_blocker.unblock(), house("recorded") as made:
        owner = made.user("wo01")
        set_model_file(
            actor=owner, workload_id=made.workload_id, data=DATA, name="m.wgraph", level=Level.INTERNAL
        )
        demo.confirm_classification(made.demo, made.workload)
        for name in ("pilot_baseline", "pilot_target"):
            start_run(made, name)
            jobs.run_pending()
        yield made


def start_run(world: World, name: str) -> None:
    """Start a run as the lead does from its page."""
    sent = {"platform": platform("WSE-2")} if name == "pilot_target" else {}
    answer = world.browser("pl01").post(reverse(name, args=[world.workload_id]), sent)
    assert answer.status_code == 302, screen(answer)


def run_of(role: str) -> Run:
    """Return the newest run of a role."""
    return Run.objects.filter(role=role).order_by("started_at").last()


def page(world: World, run: Run, name: str = "pr01") -> str:
    """Return what a person reads on the page of a run."""
    answer = world.browser(name).get(reverse("run", args=[run.pk]))
    assert answer.status_code == 200
    return screen(answer)


@contextmanager
def changed(sha256: str, data: bytes | None = b"{}") -> Iterator[None]:
    """Inside, the stored file holds other bytes, or is gone."""
    path = store.path(sha256)
    kept = path.read_bytes()
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(kept)
