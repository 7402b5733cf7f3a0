"""Django settings. Values that differ between installations come from `env`; tables stand in the packages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from qms.config import env

BASE_DIR = env.ROOT
DATA_DIR = env.data_dir()
PUBLIC = env.PublicUrl(env.text("QMS_PUBLIC_URL", "http://localhost:8000"))

SECRET_KEY = env.secret("secret_key")
DEBUG = env.flag("QMS_DEBUG")
DEMO = env.flag("QMS_DEMO")
ALLOWED_HOSTS = [PUBLIC.host, *(["127.0.0.1"] if PUBLIC.host == "localhost" else [])]
CSRF_TRUSTED_ORIGINS = [PUBLIC.origin]

INSTALLED_APPS = [
    "qms.config",
    "qms.core",
    "qms.audit",
    "qms.roles",
    "qms.workloads",
    "qms.signing",
    "qms.evidence",
    "qms.gates",
    "qms.approvals",
    "qms.web",
    "pilots",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "guardian",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "django_htmx",
    "csp",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "qms.web.middleware.RequestSizeMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "qms.web.middleware.RefusalMiddleware",
]
ROOT_URLCONF = "qms.config.urls"
WSGI_APPLICATION = "qms.config.wsgi.application"
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "qms.web.context.page",
            ],
        },
    }
]

_SQLITE: dict[str, Any] = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": DATA_DIR / "qms.sqlite3",
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 60,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;",
    },
}
_POSTGRESQL: dict[str, Any] = {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": env.text("QMS_DB_NAME", "qms"),
    "USER": env.text("QMS_DB_USER"),
    "PASSWORD": env.text("QMS_DB_PASSWORD"),
    "HOST": env.text("QMS_DB_HOST"),
    "PORT": env.text("QMS_DB_PORT"),
    "CONN_MAX_AGE": 60,
}
DATABASES = {"default": _POSTGRESQL if env.text("QMS_DB") == "postgresql" else _SQLITE}
# Counters of failed attempts are shared by all web processes through the file system; nothing else is cached.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "cache",
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "roles.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "qms.roles.accounts.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_METHODS = ["mfa", "password"]
MFA_ADAPTER = "qms.roles.accounts.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = False
GUARDIAN_MONKEY_PATCH_USER = False
ANONYMOUS_USER_NAME = None

LANGUAGE_CODE = "de"
LANGUAGES = [("de", _("Deutsch")), ("en-gb", _("Englisch"))]
LOCALE_PATHS = [BASE_DIR / "qms" / "locale"]
FORMAT_MODULE_PATH = ["qms.core.locale_formats"]
TIME_ZONE = "Europe/Berlin"
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "qms" / "web" / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": DATA_DIR / "files"},
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_REQUEST_BYTES = 12 * 2**20  # the second counts files too

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_AGE = int(timedelta(hours=8).total_seconds())
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC.is_https
SESSION_COOKIE_NAME = "__Host-qms" if PUBLIC.is_https else "qms"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 31_536_000 if PUBLIC.is_https else 0

# Without a mail server a demo prints its mails; a real installation drops them, for links do not belong in its log.
EMAIL_BACKEND = env.text(
    "QMS_EMAIL_BACKEND", f"django.core.mail.backends.{'console' if DEMO else 'dummy'}.EmailBackend"
)
DEFAULT_FROM_EMAIL = env.text("QMS_EMAIL_FROM", "ai-qms@localhost")

CELERY_BROKER_URL = env.broker_url()
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
if CELERY_BROKER_URL == "filesystem://":
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker"),
        "data_folder_out": str(DATA_DIR / "broker"),
        "control_folder": str(DATA_DIR / "broker-control"),
        "polling_interval": 0.2,
    }

# Jobs (stack.md 4): how long a claim holds without a heartbeat, and the one table of scheduled tasks with seconds between
# two runs, read by the loop of `serve`. Every scheduled task is idempotent.
JOB_LEASE_SECONDS = float(env.text("QMS_JOB_LEASE_SECONDS", "15"))
SCHEDULE: dict[str, int] = {
    "audit.checkpoint": 60,
    "core.purge_outbox": 24 * 3600,
}

# Where keys live (audit.md 6, signing.md 6.2): files with mode 0600, never in the database or its backup.
LOG_KEY_FILE = DATA_DIR / "keys" / "log.key"
KEK_FILE = DATA_DIR / "keys" / "kek"
AUDIT_ORIGIN = env.text("QMS_AUDIT_ORIGIN", PUBLIC.host + "/protokoll")
ORGANISATION_NAME = env.text("QMS_ORGANISATION", "Beispielwerk AG (fiktiv)" if DEMO else "")
SILENCED_SYSTEM_CHECKS = ["guardian.W001", "security.W004", "security.W008", "security.W012", "security.W016"]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {"kombu.connection": {"level": "ERROR"}},  # warns that a broker in a folder has no host name
    "root": {"handlers": ["console"], "level": "INFO"},
}
