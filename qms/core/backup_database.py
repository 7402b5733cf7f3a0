"""A consistent copy of the database while others write, and how a copy comes back; SQLite and PostgreSQL."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.db import connection
from django.utils.translation import gettext as _
from psycopg.conninfo import make_conninfo

from qms.core.backup_parts import BackupRefused

FILE_NAMES: Final = {"sqlite": "qms.sqlite3", "postgresql": "postgresql.dump"}
_SIZE: Final = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


def size_bytes() -> int:
    """Return how large the database is on its disk."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZE[connection.vendor])
        return int(cursor.fetchone()[0])


def copy_to(folder: Path) -> Path:
    """Copy the database into `folder`, as it is at one moment, and return the file. Raises BackupRefused."""
    path = folder / FILE_NAMES[connection.vendor]
    if connection.vendor == "postgresql":
        with _conninfo(folder) as link:
            _run("pg_dump", "--format=custom", "--no-owner", f"--file={path}", f"--dbname={link}")
    else:
        copy_sqlite(path)
    path.chmod(0o600)
    return path


def copy_sqlite(path: Path) -> None:
    """Copy the SQLite database with the backup API, then without its free pages: what was erased stays out."""
    if connection.in_atomic_block:
        raise RuntimeError("SQLite waits for ever for the end of the transaction that asks for the copy")
    connection.ensure_connection()
    raw = path.with_name(f"{path.name}.roh")
    copy = sqlite3.connect(raw, isolation_level=None)
    try:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        copy.execute("VACUUM INTO ?", [str(path)])
    finally:
        copy.close()
        raw.unlink(missing_ok=True)


def require_empty() -> None:
    """Raise BackupRefused unless the PostgreSQL database of this process has no table."""
    if connection.introspection.table_names():
        raise BackupRefused(
            _(
                "Die Datenbank %(name)s ist nicht leer; legen Sie eine neue an und nennen Sie sie mit QMS_DB_NAME."
            )
            % {"name": connection.settings_dict["NAME"]}
        )


@contextmanager
def loaded(dump: Path) -> Iterator[None]:
    """Load a dump into the empty PostgreSQL database of this process; what fails inside empties it again."""
    require_empty()
    try:
        with _conninfo(dump.parent) as link:
            options = ("--exit-on-error", "--single-transaction", "--no-owner")
            _run("pg_restore", *options, f"--dbname={link}", str(dump))
        yield
    except BaseException:
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
        raise


@contextmanager
def _conninfo(folder: Path) -> Iterator[str]:
    """Give the address of the database for its tools; the password goes through a file, never the process list."""
    values = connection.settings_dict
    named = {"host": values["HOST"], "port": values["PORT"], "user": values["USER"], "dbname": values["NAME"]}
    password_file = folder / ".pgpass"
    try:
        if values["PASSWORD"]:
            password = str(values["PASSWORD"]).replace("\\", "\\\\").replace(":", "\\:")
            password_file.touch(mode=0o600)
            password_file.write_text(f"*:*:*:*:{password}\n", encoding="utf-8")
            named["passfile"] = password_file
        yield make_conninfo("", **{name: str(value) for name, value in named.items() if value})
    finally:
        password_file.unlink(missing_ok=True)


def _run(program: str, *arguments: str) -> None:
    if shutil.which(program) is None:
        text = _(
            "Es fehlt %(program)s; ohne das Programm lässt sich PostgreSQL nicht sichern oder zurückspielen."
        )
        raise BackupRefused(text % {"program": program} + " Debian/Ubuntu: apt-get install postgresql-client")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [str(done.returncode)]
        raise BackupRefused(_("%(program)s brach ab: %(error)s") % {"program": program, "error": lines[-1]})
