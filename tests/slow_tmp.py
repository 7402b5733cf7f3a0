import os
os.environ["DJANGO_SETTINGS_MODULE"]="tests.settings"
import django; django.setup()
import logging; logging.disable(logging.ERROR)
from django.core.management import call_command
call_command("migrate",verbosity=0)
from tests.access.world import build
from tests.access.many import add_workloads
from django.db import connection
from django.test.utils import CaptureQueriesContext
w=build()
add_workloads(9975, owner=w.accounts["owner"], deputy=w.accounts["stellv"], requests=False)
b=w.browser("owner"); b.get("/workloads/")
with CaptureQueriesContext(connection) as c: b.get("/workloads/")
for q in sorted(c.captured_queries,key=lambda q:-float(q["time"]))[:8]: print(q["time"], q["sql"][:1500]); print()
