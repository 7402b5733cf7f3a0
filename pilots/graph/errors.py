"""The one error of the workload graph."""

from __future__ import annotations


class GraphError(ValueError):
    """A model text or a graph breaks a rule.

    code: stable name of the rule; position: where ("layer 2", "node 3 (matmul)", "character 5");
    expected and got: the two sides of the rule; message_de: one German sentence for people.
    """

    def __init__(self, code: str, *, position: str, expected: str, got: str, message_de: str) -> None:
        super().__init__(f"{code} at {position}: expected {expected}, got {got}")
        self.code = code
        self.position = position
        self.expected = expected
        self.got = got
        self.message_de = message_de


class ConfigError(GraphError):
    """A model configuration is unreadable, contradictory or describes what is not supported; `field` names the key."""

    @property
    def field(self) -> str:
        """The key that is at fault, or "text"."""
        return self.position


def refusal(code: str, position: str, expected: str, got: str, sentence: str) -> GraphError:
    """Return the error with its German sentence, in one line where it is raised."""
    return GraphError(code, position=position, expected=expected, got=got, message_de=sentence)
