"""The only reader of the environment. Everything else asks this module."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import environ

ROOT = Path(__file__).resolve().parent.parent.parent
_env = environ.Env()


@dataclass(frozen=True)
class PublicUrl:
    """What one public URL says about hosts, cookies and passkeys."""

    url: str

    @property
    def host(self) -> str:
        """Host name without port; the WebAuthn RP id."""
        return urlsplit(self.url).hostname or "localhost"

    @property
    def origin(self) -> str:
        """Scheme, host and port, as browsers write an origin."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_https(self) -> bool:
        """Whether cookies may be marked secure."""
        return self.url.startswith("https://")


def text(name: str, default: str = "") -> str:
    """Return the environment variable `name`, or `default`."""
    return str(_env.str(name, default=default))


def flag(name: str, default: bool = False) -> bool:
    """Return the environment variable `name` as a truth value."""
    return bool(_env.bool(name, default=default))


def data_dir() -> Path:
    """Return the folder for all data, made on first use with mode 0700."""
    path = Path(text("QMS_DATA", str(ROOT / "var")))
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def secret(name: str, size_bytes: int = 48) -> str:
    """Return a secret from the environment or from a file of that name in the data folder, made once with mode 0600."""
    value = text(f"QMS_{name.upper()}")
    if value:
        return value
    path = data_dir() / name
    if not path.exists():
        path.touch(mode=0o600, exist_ok=True)
        path.write_text(secrets.token_urlsafe(size_bytes))
    return path.read_text().strip()


def broker_url() -> str:
    """Return the Celery broker address; separate settings, so that no character of a password breaks it."""
    scheme = text("QMS_BROKER", "filesystem")
    if scheme == "filesystem":
        return "filesystem://"
    user, password = quote(text("QMS_BROKER_USER"), safe=""), quote(text("QMS_BROKER_PASSWORD"), safe="")
    login = f"{user}:{password}@" if user or password else ""
    port = text("QMS_BROKER_PORT", "6379" if scheme.startswith("redis") else "5672")
    return f"{scheme}://{login}{text('QMS_BROKER_HOST', 'localhost')}:{port}//"
