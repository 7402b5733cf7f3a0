"""The SQL of the guard on both engines. Table and column names come from model metadata, never from people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

PREFIX: Final = "audit_guard_"
UNANNOUNCED: Final = "Änderung ohne Eintrag im Audit-Protokoll abgelehnt"
ONLY_GROWS: Final = "Einträge im Audit-Protokoll werden nur angefügt"


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger: its name, its table and the statement that makes it."""

    name: str
    table: str
    sql: str


class Maker(Protocol):
    """What an engine must be able to make."""

    FUNCTIONS: ClassVar[tuple[str, ...]]
    PRESENT: ClassVar[str]

    def governed(self, table: str, columns: list[str]) -> list[Trigger]:
        """Return the triggers of a governed table; with `columns`, UPDATE counts only when one of them changes."""
        ...

    def growing(self, table: str, key: str, *, announced: bool) -> list[Trigger]:
        """Return the triggers of an insert-only table."""
        ...

    def deletable(self, table: str) -> list[Trigger]:
        """Return the triggers of a table whose rows may be added and deleted with an event, never changed."""
        ...

    def head(self, table: str) -> list[Trigger]:
        """Return the triggers of the log head: its size only goes up."""
        ...

    def drop(self, trigger: Trigger) -> str:
        """Return the statement that removes a trigger if it is there."""
        ...

    def after_create(self, trigger: Trigger) -> list[str]:
        """Return what has to follow the creation."""
        ...


class Sqlite:
    """Row triggers; the announcement is a row of `audit_ctx`."""

    FUNCTIONS: ClassVar[tuple[str, ...]] = ()
    PRESENT: ClassVar[str] = "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'"
    _OPEN: ClassVar[str] = "NOT EXISTS (SELECT 1 FROM audit_ctx)"

    def governed(self, table: str, columns: list[str]) -> list[Trigger]:
        """See `Maker`."""
        changed = " OR ".join(f'OLD."{name}" IS NOT NEW."{name}"' for name in columns)
        update = f"{self._OPEN} AND ({changed})" if changed else self._OPEN
        return [
            self._trigger(table, "INSERT", self._OPEN, UNANNOUNCED),
            self._trigger(table, "UPDATE", update, UNANNOUNCED),
            self._trigger(table, "DELETE", self._OPEN, UNANNOUNCED),
        ]

    def growing(self, table: str, key: str, *, announced: bool) -> list[Trigger]:
        """See `Maker`; the third one meets INSERT OR REPLACE, which is an UPDATE in disguise."""
        exists = f'EXISTS (SELECT 1 FROM "{table}" WHERE "{key}" = NEW."{key}")'  # noqa: S608 - names of our models
        found = [
            self._trigger(table, "UPDATE", "1", ONLY_GROWS),
            self._trigger(table, "DELETE", "1", ONLY_GROWS),
            self._trigger(table, "INSERT", exists, ONLY_GROWS, suffix="_replace"),
        ]
        return [*found, self._trigger(table, "INSERT", self._OPEN, UNANNOUNCED)] if announced else found

    def deletable(self, table: str) -> list[Trigger]:
        """See `Maker`."""
        return [
            self._trigger(table, "INSERT", self._OPEN, UNANNOUNCED),
            self._trigger(table, "UPDATE", "1", ONLY_GROWS),
            self._trigger(table, "DELETE", self._OPEN, UNANNOUNCED),
        ]

    def head(self, table: str) -> list[Trigger]:
        """See `Maker`."""
        shrinks = f"{self._OPEN} OR NEW.id IS NOT OLD.id OR NEW.size <= OLD.size"
        return [
            self._trigger(table, "INSERT", "1", ONLY_GROWS),
            self._trigger(table, "UPDATE", shrinks, ONLY_GROWS),
            self._trigger(table, "DELETE", "1", ONLY_GROWS),
        ]

    def drop(self, trigger: Trigger) -> str:
        """See `Maker`."""
        return f'DROP TRIGGER IF EXISTS "{trigger.name}"'

    def after_create(self, trigger: Trigger) -> list[str]:
        """See `Maker`."""
        del trigger
        return []

    @staticmethod
    def _trigger(table: str, action: str, condition: str, message: str, *, suffix: str = "") -> Trigger:
        name = f"{PREFIX}{table}_{action.lower()}{suffix}"
        head = f'CREATE TRIGGER "{name}" BEFORE {action} ON "{table}" FOR EACH ROW WHEN {condition}'
        return Trigger(name, table, f"{head} BEGIN SELECT RAISE(ABORT, '{message}'); END")


class Postgresql:
    """Statement triggers; the announcement is a transaction-local setting. ENABLE ALWAYS defeats replica mode."""

    FUNCTIONS: ClassVar[tuple[str, ...]] = (
        f"""CREATE OR REPLACE FUNCTION audit_require_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF coalesce(current_setting('audit.event', true), '') = '' THEN
            RAISE EXCEPTION '{UNANNOUNCED}' USING ERRCODE = 'integrity_constraint_violation';
          END IF;
          RETURN NEW;
        END $$""",
        f"""CREATE OR REPLACE FUNCTION audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          RAISE EXCEPTION '{ONLY_GROWS}' USING ERRCODE = 'integrity_constraint_violation';
        END $$""",
    )
    PRESENT: ClassVar[str] = (
        "SELECT c.relname::text, t.tgname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE NOT t.tgisinternal AND t.tgenabled = 'A' AND n.nspname = current_schema()"
    )

    def governed(self, table: str, columns: list[str]) -> list[Trigger]:
        """See `Maker`."""
        changed = " OR ".join(f'OLD."{name}" IS DISTINCT FROM NEW."{name}"' for name in columns)
        truncate = self._statement(table, "TRUNCATE", "audit_only_grows")
        if not changed:
            return [self._statement(table, "INSERT OR UPDATE OR DELETE", "audit_require_event"), truncate]
        name = f"{PREFIX}change"
        row = (
            f'CREATE TRIGGER "{name}" BEFORE UPDATE ON "{table}" FOR EACH ROW WHEN ({changed})'
            " EXECUTE FUNCTION audit_require_event()"
        )
        insert = self._statement(table, "INSERT OR DELETE", "audit_require_event")
        return [insert, Trigger(name, table, row), truncate]

    def growing(self, table: str, key: str, *, announced: bool) -> list[Trigger]:
        """See `Maker`; this engine has no REPLACE, the primary key is enough."""
        del key
        found = [self._statement(table, "UPDATE OR DELETE OR TRUNCATE", "audit_only_grows")]
        return [*found, self._statement(table, "INSERT", "audit_require_event")] if announced else found

    def deletable(self, table: str) -> list[Trigger]:
        """See `Maker`."""
        return [
            self._statement(table, "INSERT OR DELETE", "audit_require_event"),
            self._statement(table, "UPDATE OR TRUNCATE", "audit_only_grows"),
        ]

    def head(self, table: str) -> list[Trigger]:
        """See `Maker`."""
        name = f"{PREFIX}step"
        step = (
            f'CREATE TRIGGER "{name}" BEFORE UPDATE ON "{table}" FOR EACH ROW'
            " WHEN (NEW.id IS DISTINCT FROM OLD.id OR NEW.size <= OLD.size) EXECUTE FUNCTION audit_only_grows()"
        )
        return [
            Trigger(name, table, step),
            self._statement(table, "UPDATE", "audit_require_event"),
            self._statement(table, "INSERT OR DELETE OR TRUNCATE", "audit_only_grows"),
        ]

    def drop(self, trigger: Trigger) -> str:
        """See `Maker`."""
        return f'DROP TRIGGER IF EXISTS "{trigger.name}" ON "{trigger.table}"'

    def after_create(self, trigger: Trigger) -> list[str]:
        """See `Maker`."""
        return [f'ALTER TABLE "{trigger.table}" ENABLE ALWAYS TRIGGER "{trigger.name}"']

    @staticmethod
    def _statement(table: str, actions: str, function: str) -> Trigger:
        name = PREFIX + actions.lower().replace(" or ", "_")
        head = f'CREATE TRIGGER "{name}" BEFORE {actions} ON "{table}" FOR EACH STATEMENT'
        return Trigger(name, table, f"{head} EXECUTE FUNCTION {function}()")


MAKERS: Final[dict[str, Maker]] = {"sqlite": Sqlite(), "postgresql": Postgresql()}
