"""Settings of a test run: a folder of its own for all data, no demo, quick hashes, mail in memory."""

import atexit
import os
import shutil
import tempfile

_DATA = tempfile.mkdtemp(prefix="qms-test-")
atexit.register(shutil.rmtree, _DATA, ignore_errors=True)
os.environ["QMS_DATA"] = _DATA
for _name in ("QMS_DEMO", "QMS_DEBUG", "QMS_PUBLIC_URL", "QMS_BROKER"):
    os.environ.pop(_name, None)

from qms.config.settings import *  # noqa: E402, F403

DEMO = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT_OPTIONS = {}
