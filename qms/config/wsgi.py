"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "qms.config.settings")  # noqa: TID251 - the entry point
application = get_wsgi_application()

from qms.core import installation  # noqa: E402 - models exist only now

installation.check_mode()  # however it was started: demo logins never meet real data
