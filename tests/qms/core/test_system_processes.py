"""Real processes on a folder of their own: what a kill costs, and that nothing stays behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.waiting import wait_until

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]
LEASE_S = 2


class House:
    """An installation in a folder, driven from outside."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = os.environ | {
            "QMS_DATA": str(folder),
            "DJANGO_SETTINGS_MODULE": "tests.qms.core.system.settings",
            "QMS_JOB_LEASE_SECONDS": str(LEASE_S),
            "QMS_DB": "sqlite",
        }
        self.processes: list[subprocess.Popen] = []
        self.log = folder / "log"

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, check=True, capture_output=True, text=True
        ).stdout

    def python(self, text: str) -> str:
        return self.manage("shell", "-v0", "-c", text).strip()

    def start(self, *command: str) -> subprocess.Popen:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=self.environment,
                process_group=0,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def dispatch(self) -> subprocess.Popen:
        return self.start(str(ROOT / "manage.py"), "dispatch")

    def worker(self) -> subprocess.Popen:
        app = ["-m", "celery", "--quiet", "-A", "qms.config.celery", "worker", "--loglevel", "WARNING"]
        return self.start(*app, "--pool", "threads", "-c", "2", "--without-gossip", "--without-mingle")

    def serve(self, port: int) -> subprocess.Popen:
        return self.start(str(ROOT / "manage.py"), "serve", "--port", str(port))

    def enqueue(self, kind: str) -> str:
        return self.python(
            "from django.db import transaction\nfrom qms.core import tasks\n"
            f"with transaction.atomic(): print(tasks.enqueue_job(kind={kind!r}).pk)"
        ).replace("-", "")

    def job(self, job_id: str, field: str = "state"):
        link = sqlite3.connect(self.folder / "qms.sqlite3", timeout=30)
        try:
            return link.execute(f"SELECT {field} FROM core_job WHERE id = ?", [job_id]).fetchone()[0]
        finally:
            link.close()

    def allow(self, *steps: int) -> None:
        for step in steps:
            (self.folder / f"go-{step}").touch()

    def steps(self) -> list[list[str]]:
        path = self.folder / "steps"
        return [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A folder of data made once; each test works on a copy."""
    house = House(tmp_path_factory.mktemp("template"))
    house.manage("migrate", "--run-syncdb", "-v0")
    house.python("from qms.core import installation; installation.store_mode()")
    for name in ("broker", "broker-control"):
        (house.folder / name).mkdir()
    return house.folder


@pytest.fixture
def house(template, tmp_path):
    house = House(tmp_path / "data")
    shutil.copytree(template, house.folder)
    yield house
    house.end()


def kill(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def child_of(pid: int, word: str) -> int:
    """Pid of the child whose command line has the word."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        if parent == pid and word in command and "qms.core.tether" not in command:
            return int(path.name)
    return 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def test_job_goes_on_at_its_checkpoint_after_the_worker_was_killed(house):
    house.dispatch()
    first = house.worker()
    job = house.enqueue("test.steps")
    house.allow(0, 1)
    wait_until(
        lambda: len(house.steps()) == 2 and house.job(job, "checkpoint") == '{"step": 2}', what="two steps"
    )
    kill(first)
    house.worker()
    house.allow(2, 3)
    wait_until(lambda: house.job(job) == "SUCCEEDED", what="the end of the job")
    assert [step[:2] for step in house.steps()] == [["1", "0"], ["1", "1"], ["2", "2"], ["2", "3"]]
    assert house.job(job, "attempt") == 2


def test_lease_holds_while_a_step_takes_longer_than_it(house):
    house.dispatch()
    house.worker()
    job = house.enqueue("test.steps")
    first = wait_until(lambda: house.job(job, "lease_until"), what="the claim")
    wait_until(lambda: house.job(job, "heartbeat_at") > first, what=f"a heartbeat after {LEASE_S} s")
    house.allow(0, 1, 2, 3)
    wait_until(lambda: house.job(job) == "SUCCEEDED", what="the end of the job")
    assert house.job(job, "attempt") == 1


def test_isolated_job_runs_in_a_child_that_cancel_ends(house):
    house.dispatch()
    worker = house.worker()
    job = house.enqueue("test.child")
    pid = int(wait_until(lambda: house.job(job, "progress_text"), what="the child"))
    assert pid != worker.pid
    house.python(
        f"from uuid import UUID; from qms.core import jobs; jobs.request_cancel(job_id=UUID({job!r}))"
    )
    wait_until(lambda: house.job(job) == "CANCELLED", what="the cancelled job")
    wait_until(lambda: not is_alive(pid), what="the end of the child")
    assert worker.poll() is None


def test_isolated_job_dies_with_its_worker(house):
    house.dispatch()
    worker = house.worker()
    job = house.enqueue("test.child")
    pid = int(wait_until(lambda: house.job(job, "progress_text"), what="the child"))
    worker.kill()
    wait_until(lambda: not is_alive(pid), what="the end of the child")


def test_crash_of_a_child_leaves_the_worker_and_a_readable_reason(house):
    house.dispatch()
    worker = house.worker()
    job = house.enqueue("test.crash")
    wait_until(lambda: "Signal 11" in house.job(job, "error"), what="the reason")
    assert worker.poll() is None


def test_serve_restarts_what_was_killed_and_leaves_nothing_behind(house):
    port = free_port()
    serve = house.serve(port)
    wait_until(lambda: answers(port), what="the web server")
    worker = wait_until(lambda: child_of(serve.pid, "celery"), what="the worker")
    os.killpg(worker, signal.SIGKILL)
    wait_until(lambda: child_of(serve.pid, "celery") not in {0, worker}, what="another worker")
    web = child_of(serve.pid, "gunicorn")
    os.killpg(web, signal.SIGKILL)
    wait_until(
        lambda: child_of(serve.pid, "gunicorn") not in {0, web} and answers(port), what="another web server"
    )
    pids = [child_of(serve.pid, word) for word in ("gunicorn", "celery", "dispatch")]
    assert all(pids)
    serve.terminate()
    assert serve.wait(timeout=60) == 0
    assert not any(map(is_alive, pids))
    assert not answers(port)


def test_death_of_the_supervisor_ends_its_children(house):
    port = free_port()
    serve = house.serve(port)
    wait_until(lambda: answers(port), what="the web server")
    pids = [
        wait_until(lambda word=word: child_of(serve.pid, word)) for word in ("gunicorn", "celery", "dispatch")
    ]
    serve.kill()
    serve.wait()
    wait_until(lambda: not any(map(is_alive, pids)), what="the end of the children")
    assert not answers(port)


def test_first_run_prints_one_address_and_no_warning(house):
    house.serve(free_port())
    wait_until(lambda: "AI-QMS läuft" in house.log.read_text(), what="the address")
    pulse = "from qms.core.models import Pulse; print(Pulse.objects.filter(pk='worker').exists())"
    wait_until(lambda: house.python(pulse) == "True", what="the worker")
    assert house.log.read_text().strip() == "AI-QMS läuft: http://localhost:8000 (Ende mit Strg+C)"


def test_serve_refuses_a_port_that_is_taken(house):
    with socket.create_server(("127.0.0.1", 0)) as server:
        serve = house.serve(server.getsockname()[1])
        assert serve.wait(timeout=60) != 0
    assert "ist nicht frei" in house.log.read_text()
