"""The whole product in real processes: a kill in the middle of an emulation, and two people at the same second."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.qms.core.test_system_processes import ROOT, House, is_alive, kill
from tests.waiting import wait_until

pytestmark = pytest.mark.system

MAKE = """
import pilots.jobs
from pilots import demo
from qms.core import jobs
from tests.walk import Ticks
pilots.jobs.perf_counter_ns = Ticks()
house = demo.make_house()
workload = demo.register_workload(house)
demo.confirm_classification(house, workload)
demo.start_baseline(house, workload)
jobs.run_pending()
demo.start_target(house, workload)
"""
RESULT = """
import json
from pilots.models import Run
from qms.audit import verify
from qms.audit.models import AuditEvent
run = Run.objects.get(role="ZIEL")
types = list(run.workload.evidence.filter(replaced_by=None).order_by("type").values_list("type", "facts_sha256"))
print(json.dumps({
    "digest": run.result_digest, "state": run.exit_state, "attempt": run.job.attempt, "types": [row[0] for row in types],
    "ended": AuditEvent.objects.filter(kind="LAUF_BEENDET").count(), "log": verify.check_log().ok,
}))
"""

# Both approvers have frozen their wording and hold their signed answer when the file `go` appears.
READY = """
from pilots import demo
from qms.audit.actors import SYSTEM
from qms.core import jobs
from qms.roles.roles import Role
from qms.workloads.models import Workload
jobs.run_pending()
house, workload = demo.Demo(), Workload.objects.get()
demo._invite(house, "fg02", "Freigabe 2", demo.PASSWORD)
demo._give_role(house, "fg02", Role.APPROVER)
demo._enrol(house.user("fg02"))
approval = demo.request_approval(house, workload)
demo.review(house, approval)
"""
DECIDE = """
import pathlib
from django.conf import settings
from pilots import demo
from qms.approvals.choices import Decision, Meaning
from qms.approvals.documents import Wording
from qms.approvals.models import Approval
from qms.approvals.services import decisions
from qms.approvals.services.acts import statement_for
from qms.core.errors import Refusal
from tests.waiting import wait_until
house, approval = demo.Demo(), Approval.objects.get()
approver = house.user(NAME)
wording = Wording(Decision.APPROVE, "Alles geprüft.", Meaning.APPROVED)
frozen = decisions.prepare_decision(actor=approver, approval_id=approval.pk, wording=wording)
challenge, response = demo._answer(approver, statement_for(frozen, actor=approver))
folder = pathlib.Path(settings.DATA_DIR)
(folder / ("ready-" + NAME)).touch()
wait_until(lambda: (folder / "go").exists(), every_s=0.01, what="the start")
try:
    decisions.decide_approval(actor=approver, record_id=frozen.pk, challenge_id=challenge, response=response)
    print("decided")
except Refusal as refusal:
    print(refusal.http_status, refusal.code)
"""
COUNTED = """
import json
from qms.approvals.models import Approval, ApprovalDecision
from qms.audit import verify
from qms.audit.models import AuditEvent
def count(kind): return AuditEvent.objects.filter(kind=kind).count()
print(json.dumps({
    "status": Approval.objects.get().status, "decisions": ApprovalDecision.objects.count(),
    "granted": count("FREIGABE_ERTEILT"), "refused": count("AENDERUNG_VERWEIGERT"), "log": verify.check_log().ok,
}))
"""


class WholeHouse(House):
    """The whole product in a folder."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.environment |= {"DJANGO_SETTINGS_MODULE": "tests.faults.system.settings", "QMS_DEMO": "1"}

    def target_job(self) -> str:
        link = sqlite3.connect(self.folder / "qms.sqlite3", timeout=30)
        try:
            return str(link.execute("SELECT state FROM core_job WHERE kind = 'pilots.target'").fetchone()[0])
        finally:
            link.close()

    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.python(RESULT).splitlines()[-1])
        return found


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a target run waits for its first worker."""
    house = WholeHouse(tmp_path_factory.mktemp("waiting"))
    house.manage("prepare")
    house.python(MAKE)
    for name in ("broker", "broker-control"):
        (house.folder / name).mkdir(exist_ok=True)
    return house.folder


def copy(waiting: Path, folder: Path) -> WholeHouse:
    house = WholeHouse(folder)
    shutil.copytree(waiting, folder, dirs_exist_ok=True)
    return house


def test_killed_worker_in_mid_emulation_changes_nothing_about_the_result(
    waiting: Path, tmp_path: Path
) -> None:
    untouched = copy(waiting, tmp_path / "untouched")
    untouched.python("from qms.core import jobs; jobs.run_pending()")
    expected = untouched.result()
    assert (expected["state"], expected["attempt"], expected["log"]) == ("BEENDET", 1, True)

    house = copy(waiting, tmp_path / "killed")
    (house.folder / "hold").touch()
    try:
        house.dispatch()
        first = house.worker()
        held = house.folder / "held"
        pid = int(wait_until(lambda: held.exists() and held.read_text(), what="the middle of the emulation"))
        assert pid != first.pid
        kill(first)
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
        house.worker()
        wait_until(lambda: house.target_job() == "SUCCEEDED", within_s=120, what="the end of the run")
        found = house.result()
    finally:
        house.end()
    assert found["attempt"] == 2
    assert found["digest"] == expected["digest"]
    assert found == expected | {"attempt": 2}
    assert found["types"] == ["EV-02", "EV-04", "EV-05", "EV-06", "EV-16"]


def test_two_approvers_at_the_same_second_decide_once(waiting: Path, tmp_path: Path) -> None:
    house = copy(waiting, tmp_path / "two")
    house.python(READY)
    command = [sys.executable, "manage.py", "shell", "-v0", "-c"]
    people = [
        subprocess.Popen(
            [*command, f"NAME = {name!r}\n{DECIDE}"],
            cwd=ROOT,
            env=house.environment,
            text=True,
            stdout=subprocess.PIPE,
        )
        for name in ("fg01", "fg02")
    ]
    try:
        wait_until(
            lambda: all((house.folder / f"ready-{name}").exists() for name in ("fg01", "fg02")),
            what="both approvers",
        )
        (house.folder / "go").touch()
        answers = sorted(person.communicate(timeout=120)[0].split("\n")[-2] for person in people)
    finally:
        for person in people:
            person.kill()
            person.wait()
    assert answers == ["409 AENDERUNG_VERWEIGERT", "decided"]
    found = json.loads(house.python(COUNTED).splitlines()[-1])
    assert found == {"status": "FREIGEGEBEN", "decisions": 1, "granted": 1, "refused": 1, "log": True}
