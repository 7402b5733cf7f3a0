"""WSGI entry point."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "qms.config.settings")  # noqa: TID251 - the entry point
application = get_wsgi_application()

if settings.DEMO:  # however it was started: demo logins never meet real data
    from qms.core import installation

    installation.check_mode()
