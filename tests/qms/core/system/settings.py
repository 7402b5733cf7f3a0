"""Settings of the real processes that system tests start: core alone, with jobs that tests can watch and hold up."""

from qms.config.settings import *  # noqa: F403

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "qms.config",
    "qms.core",
    "tests.qms.core.system.app.TestJobsConfig",
]
AUTH_USER_MODEL = "auth.User"
MIGRATION_MODULES = {"core": None, "auth": None, "contenttypes": None}
MIDDLEWARE = []
ROOT_URLCONF = "tests.qms.core.system.urls"
FORMAT_MODULE_PATH = []
LOCALE_PATHS = []
SCHEDULE = {}
