"""The whole product in real processes, with an emulation that a test can hold up in its middle."""

from qms.config.settings import *  # noqa: F403
from qms.config.settings import INSTALLED_APPS as _APPS

DEMO = True
INSTALLED_APPS = [*_APPS, "tests.faults.system.app.HeldConfig"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
