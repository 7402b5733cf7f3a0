"""Names that travel as text between packages meet their other end."""

from __future__ import annotations

import ast

from qms.core import jobs, outbox
from tests.architecture.sources import OUR_CODE, files, tree


def literal_arguments(function, keyword):
    for path in files(*OUR_CODE):
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Call)
                and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) == function
            ):
                for argument in node.keywords:
                    if argument.arg == keyword and isinstance(argument.value, ast.Constant):
                        yield argument.value.value, f"{path}:{node.lineno}"


def test_every_job_that_is_enqueued_has_a_handler():
    assert [
        place for kind, place in literal_arguments("enqueue_job", "kind") if kind not in jobs.kind_names()
    ] == []


def test_every_message_that_is_enqueued_has_a_handler():
    assert [
        place for task, place in literal_arguments("enqueue", "task") if task not in outbox.handler_names()
    ] == []
