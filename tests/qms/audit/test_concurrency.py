"""Several writers at once: the order has no gaps, nothing acknowledged is lost, nobody deadlocks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from django.db import connection

from qms.audit import verify
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditLeaf, Export
from qms.audit.services import record, unit
from qms.core.models import Job

WRITER = """
import sys, django
django.setup()
from django.core.management import call_command
from qms.audit import verify
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
if sys.argv[1] == "make":
    call_command("migrate", run_syncdb=True, verbosity=0)
elif sys.argv[1] == "check":
    print(verify.check_log())
else:
    for number in range(25):
        try:
            with unit(actor=SYSTEM):
                record(AuditKind.WORKLOAD_CHANGED, actor=SYSTEM, subject_ref=("Workload", "1"), private={"text": "a b"})
                if number % 10 == 9:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
"""


def _process(folder, word: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "QMS_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "qms.config.settings"}
    command = [sys.executable, "-c", WRITER, word]
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.full
@pytest.mark.system
def test_processes_on_one_sqlite_file_leave_a_log_without_gaps(tmp_path):
    assert _process(tmp_path, "make").wait() == 0
    writers = [_process(tmp_path, "write") for _ in range(4)]
    outcomes = [(writer.communicate()[1], writer.returncode) for writer in writers]
    assert [code for _text, code in outcomes] == [0, 0, 0, 0], outcomes
    report = _process(tmp_path, "check").communicate()[0]
    assert report.startswith("Report(size=92,")
    assert "problem=''" in report


def _write(exports: list[Export], first: int, errors: list[BaseException]) -> None:
    try:
        for number in range(12):
            own = exports[(first + number) % len(exports)]
            with unit(actor=SYSTEM):
                row = Export.objects.select_for_update().get(pk=own.pk)
                Export.objects.filter(pk=row.pk).update(size_bytes=number)
                Export.objects.create(job=Job.objects.create(kind="x"), requested_by="p", purpose="z")
                record(AuditKind.EXPORT_COMPLETED, actor=SYSTEM, subject=row, private={"reason": "ein Grund"})
    except BaseException as error:  # noqa: BLE001 - handed to the test
        errors.append(error)
    finally:
        connection.close()


@pytest.mark.skipif("connection.vendor != 'postgresql'")
@pytest.mark.django_db(transaction=True)
def test_threads_on_postgresql_leave_a_log_without_gaps():
    with unit(actor=SYSTEM):
        jobs = [Job.objects.create(kind="x") for _ in range(2)]
        exports = [Export.objects.create(job=job, requested_by="p", purpose="z") for job in jobs]
        record(AuditKind.EXPORT_CREATED, actor=SYSTEM, subject=exports[0])
    errors: list[BaseException] = []
    threads = [threading.Thread(target=_write, args=(exports, first, errors)) for first in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert list(AuditLeaf.objects.order_by("seq").values_list("seq", flat=True)) == list(range(73))
    assert verify.check_log().ok
