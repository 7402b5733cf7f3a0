"""Parser of abort criteria: the EBNF of spec 3.11, by recursive descent, with the exact position of an error.

One function per rule of the grammar. Numbers take a decimal point or a decimal comma; the canonical text has
the point. A rule joins its conditions with UND or with ODER, never both.
"""

from __future__ import annotations

import difflib
from decimal import Decimal
from typing import Final, NoReturn

from django.utils.translation import gettext as _

from qms.core.errors import QmsError
from qms.roles.roles import Role
from qms.workloads.abort_ast import (
    ActionKind,
    Aggregation,
    BaselineOperand,
    BudgetOperand,
    Combinator,
    Comparison,
    Condition,
    Duration,
    DurationUnit,
    MetricFilter,
    Operand,
    QualityTargetOperand,
    Rule,
    RuleAction,
    Samples,
    Threshold,
    Window,
    convertible,
)
from qms.workloads.abort_lexer import Kind, Token, tokenize
from qms.workloads.metrics import catalogue

MAX_LENGTH: Final = 2000  # characters; the longest template has 150
MAX_CONDITIONS: Final = 10
UNITS: Final = ("%", "ms", "s", "min", "h", "°C", "GB", "EUR", "PT")


class AbortSyntaxError(QmsError):
    """The rule text does not follow the grammar.

    line and column count from 1; expected: what could stand there; got: what stands there, "" at the end.
    """

    def __init__(self, line: int, column: int, expected: tuple[str, ...], got: str, hint: str = "") -> None:
        self.line, self.column, self.expected, self.got, self.hint = line, column, expected, got, hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """Return the sentence for the person, in the active language."""
        values = {"line": self.line, "column": self.column, "expected": ", ".join(self.expected)}
        if self.got:
            text = _("Zeile %(line)s, Spalte %(column)s: erwartet %(expected)s, gefunden „%(got)s“.")
        else:
            text = _("Zeile %(line)s, Spalte %(column)s: erwartet %(expected)s, der Text endet hier.")
        return " ".join(part for part in (text % (values | {"got": self.got}), self.hint) if part)


def parse(text: str) -> Rule:
    """Return the rule in `text`; raises AbortSyntaxError with line and column of the first error."""
    if len(text) > MAX_LENGTH:
        limit = _("höchstens %(limit)s Zeichen") % {"limit": MAX_LENGTH}
        raise AbortSyntaxError(1, MAX_LENGTH + 1, (limit,), text[MAX_LENGTH : MAX_LENGTH + 10])
    return _Parser(tokenize(text)).rule()


class _Parser:
    """Reads tokens from left to right; each method consumes one rule of the grammar."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0

    def rule(self) -> Rule:
        self._take("WENN")
        conditions, combinator = self._conditions()
        hold = self._duration() if self._accept("FUER") else None
        self._take("DANN")
        actions = [self._action()]
        while self._accept(","):
            actions.append(self._action())
        if self._here.kind is not Kind.END:
            self._fail(("„,“", _("Ende der Regel")))
        return Rule(tuple(conditions), combinator, hold, tuple(actions))

    def _conditions(self) -> tuple[list[Condition], Combinator | None]:
        conditions = [self._condition()]
        combinator: Combinator | None = None
        while self._here.text in set(Combinator):
            found = Combinator(self._here.text)
            if combinator is not None and found is not combinator:
                self._fail((combinator.value,), _("Eine Regel verbindet nur mit UND oder nur mit ODER."))
            if len(conditions) == MAX_CONDITIONS:
                self._fail(("FUER", "DANN"), _("Eine Regel hat höchstens zehn Bedingungen."))
            combinator = found
            self._advance()
            conditions.append(self._condition())
        return conditions, combinator

    def _condition(self) -> Condition:
        if self._here.text not in set(Aggregation):
            self._fail((_("eine Zusammenfassung (%(names)s)") % {"names": ", ".join(Aggregation)},))
        aggregation = Aggregation(self._advance().text)
        self._take("(")
        metric = self._metric()
        chosen = self._filter() if self._accept("[") else None
        self._take(")")
        self._take("UEBER")
        window = self._window()
        if self._here.text not in set(Comparison):
            self._fail((_("ein Vergleich (%(names)s)") % {"names": " ".join(Comparison)},))
        comparison = Comparison(self._advance().text)
        return Condition(aggregation, metric, chosen, window, comparison, self._operand(metric))

    def _metric(self) -> str:
        if self._here.text not in catalogue():
            near = difflib.get_close_matches(self._here.text, catalogue(), n=1)
            hint = _("Meinten Sie „%(name)s“?") % {"name": near[0]} if near else ""
            self._fail((_("eine Messgröße des Katalogs"),), hint)
        return self._advance().text

    def _filter(self) -> MetricFilter:
        key = self._name(_("ein Merkmal"))
        self._take("=")
        if self._here.kind not in {Kind.WORD, Kind.NUMBER}:
            self._fail((_("ein Wert"),))
        value = self._advance().text
        self._take("]")
        return MetricFilter(key, value)

    def _window(self) -> Window:
        count = self._integer()
        if self._accept("STICHPROBEN"):
            return Samples(count)
        return Duration(count, self._duration_unit(("STICHPROBEN",)))

    def _duration(self) -> Duration:
        return Duration(self._integer(), self._duration_unit(()))

    def _duration_unit(self, others: tuple[str, ...]) -> DurationUnit:
        if self._here.text not in set(DurationUnit):
            self._fail((*DurationUnit, *others))
        return DurationUnit(self._advance().text)

    def _integer(self) -> int:
        token = self._here
        if token.kind is not Kind.NUMBER or not token.text.isdigit() or int(token.text) == 0:
            self._fail((_("eine ganze Zahl größer als 0"),))
        return int(self._advance().text)

    def _operand(self, metric: str) -> Operand:
        if self._accept("BASELINE"):
            return BaselineOperand(self._factor())
        if self._accept("BUDGET"):
            return BudgetOperand(self._factor())
        if self._accept("QUALITAETSZIEL"):
            return QualityTargetOperand(self._name(_("die Kennung eines Qualitätsziels")))
        number = self._number((_("eine Zahl"), "BASELINE", "QUALITAETSZIEL", "BUDGET"))
        if self._here.text not in UNITS:
            return Threshold(number, "")
        if not convertible(self._here.text, catalogue()[metric].unit):
            unit = catalogue()[metric].unit
            shown = "%" if unit == "ratio" else unit
            named = shown if shown in UNITS else _("keine Einheit")
            self._fail((named,), _("Die Einheit passt nicht zur Messgröße %(key)s.") % {"key": metric})
        return Threshold(number, self._advance().text)

    def _factor(self) -> Decimal:
        return self._number((_("eine Zahl"),)) if self._accept("*") else Decimal(1)

    def _number(self, expected: tuple[str, ...]) -> Decimal:
        negative = self._accept("-")
        if self._here.kind is not Kind.NUMBER:
            self._fail(expected)
        number = Decimal(self._advance().text.replace(",", "."))
        return -number if negative else number

    def _action(self) -> RuleAction:
        if self._here.text not in set(ActionKind):
            self._fail((_("eine Maßnahme (%(names)s)") % {"names": ", ".join(ActionKind)},))
        kind = ActionKind(self._advance().text)
        if kind is not ActionKind.NOTIFY:
            return RuleAction(kind)
        self._take("(")
        if self._here.text not in set(Role):
            self._fail((_("eine Rolle (%(names)s)") % {"names": ", ".join(Role)},))
        role = Role(self._advance().text)
        self._take(")")
        return RuleAction(kind, role)

    def _name(self, expected: str) -> str:
        if self._here.kind is not Kind.WORD:
            self._fail((expected,))
        return self._advance().text

    @property
    def _here(self) -> Token:
        return self._tokens[self._index]

    def _advance(self) -> Token:
        token = self._here
        self._index += 1
        return token

    def _accept(self, text: str) -> bool:
        if self._here.text != text:
            return False
        self._index += 1
        return True

    def _take(self, text: str) -> None:
        if not self._accept(text):
            self._fail((f"„{text}“",))

    def _fail(self, expected: tuple[str, ...], hint: str = "") -> NoReturn:
        token = self._here
        raise AbortSyntaxError(
            token.line, token.column, tuple(str(item) for item in expected), token.text, hint
        )
