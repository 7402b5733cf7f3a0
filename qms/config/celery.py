"""The Celery application; tasks are found in `qms.core.tasks`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "qms.config.settings")  # noqa: TID251 - the entry point
app = Celery("qms")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["qms.core"])
