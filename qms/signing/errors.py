"""Errors of the signing package; one class per cause. Django-free."""

from __future__ import annotations

from qms.core.errors import QmsError


class SigningError(QmsError):
    """Base of every error of this package."""


class ActInvalid(SigningError):
    """A stored act does not prove what it claims; the text says which check failed."""


class KeyFileError(SigningError):
    """The key-encryption key is missing, malformed or too widely readable."""


class KeySealBroken(SigningError):
    """A wrapped key cannot be opened with the key-encryption key at hand."""


class KeyUsedTwice(SigningError):
    """A one-time key was asked for a second signature."""


class GlyphMissing(SigningError):
    """A text holds a character that the bundled fonts cannot draw; `character` names it."""

    def __init__(self, message: str, character: str) -> None:
        super().__init__(message)
        self.character = character


class RenderFailed(SigningError):
    """The document could not be rendered: a part is missing or a resource was refused."""


class DocumentClosed(SigningError):
    """The closing seal is set; nothing may be signed any more."""


class FieldRefused(SigningError):
    """The signature field does not exist, is filled already or belongs to somebody else."""


class StaleBase(SigningError):
    """The revision to sign is not the newest one."""


class CertificateRefused(SigningError):
    """The certificate is expired, revoked or not trusted."""


class DecisionMalformed(SigningError):
    """The decision record does not follow its schema; the text names the path."""
