"""The four plain questions (spec 4.5) as data, and which combinations of answers are allowed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from django.utils.translation import gettext as _

from qms.core import canonical
from qms.core.coded import localized
from qms.core.errors import CriterionNotMet
from qms.workloads.choices import Flag, LeavesEnvironment, Level, LogContent

_FILE: Final = Path(__file__).parent / "data" / "questions.json"

Answers: TypeAlias = Mapping[str, frozenset[str]]
"""Chosen answer codes by question id: {"KF-1": frozenset({"a"}), …}; a missing key is an unanswered question."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and what it means for the proposal."""

    code: str
    text_de: str
    base: Level | None
    flags: tuple[Flag, ...]
    logs: LogContent | None
    leaves: LeavesEnvironment | None
    row: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Return the answer in the active language."""
        return localized(self.row, "text")


@dataclass(frozen=True, slots=True)
class Question:
    """One question; exclusive answers stand alone, combinable ones together, additional ones are added."""

    id: str
    question_de: str
    exclusive: frozenset[str]
    combinable: frozenset[str]
    additional: frozenset[str]
    answers: tuple[Answer, ...]
    row: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Return the question in the active language."""
        return localized(self.row, "question")

    def chosen(self, answers: Answers) -> tuple[Answer, ...]:
        """Return the chosen answers of this question in the order of the data."""
        codes = answers.get(self.id, frozenset())
        return tuple(answer for answer in self.answers if answer.code in codes)


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """Why the answers to one question are not acceptable, as a sentence."""

    question: str
    message: str


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = canonical.loads(_FILE.read_bytes())
    return document


def version() -> str:
    """Return the version of questions and proposal table; it is stored with every proposal."""
    return str(_document()["version"])


@cache
def questions() -> tuple[Question, ...]:
    """Return the four questions in order."""
    return tuple(
        Question(
            row["id"],
            row["question_de"],
            frozenset(row["exclusive"]),
            frozenset(row["combinable"]),
            frozenset(row["additional"]),
            tuple(_answer(answer) for answer in row["answers"]),
            row,
        )
        for row in _document()["questions"]
    )


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        row["code"],
        row["text_de"],
        Level(row["base"]) if row["base"] else None,
        tuple(Flag(flag) for flag in row["flags"]),
        LogContent(row["logs"]) if row["logs"] else None,
        LeavesEnvironment(row["leaves_own_env"]) if row["leaves_own_env"] else None,
        row,
    )


def answered(question: Question, answers: Answers) -> bool:
    """Return whether `question` has an acceptable answer."""
    return question_problem(question, answers) is None


def question_problem(question: Question, answers: Answers) -> AnswerProblem | None:
    """Return what is wrong with the answers to `question`, None if nothing is."""
    codes = answers.get(question.id, frozenset())
    known = {answer.code for answer in question.answers}
    main = codes - question.additional
    if codes - known:
        return AnswerProblem(question.id, _("Diese Antwort gibt es nicht."))
    if not main:
        return AnswerProblem(question.id, _("Bitte beantworten Sie diese Frage."))
    if main & question.exclusive and len(main) > 1:
        return AnswerProblem(question.id, _("Diese Antworten schließen einander aus."))
    return None


def problems(answers: Answers) -> tuple[AnswerProblem, ...]:
    """Return the problems of all questions in order; empty means complete and consistent."""
    found = (question_problem(question, answers) for question in questions())
    return tuple(problem for problem in found if problem is not None)


def check_answers(answers: Answers) -> None:
    """Raise CriterionNotMet (G1-1) naming the first question whose answers cannot be used."""
    for problem in problems(answers):
        message = _("%(question)s: %(problem)s (G1-1)") % {
            "question": problem.question,
            "problem": problem.message,
        }
        raise CriterionNotMet(message, id="G1-1", next_step=_("Die vier Fragen zu den Daten beantworten."))
