"""What is measured, each against the bare thing it is made of."""

from __future__ import annotations

import io
import json
import time
from functools import partial
from typing import Any
from unittest import mock

from django.core import mail
from django.db import connection, transaction
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pilots import demo
from qms.approvals.models import Dossier
from qms.audit import guard
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import canonical, jobs
from qms.signing import render
from qms.workloads.models import Workload
from tests.access.many import add_workloads
from tests.access.table import _review
from tests.access.world import World
from tests.bench.table import Table, cpu_seconds, wall_seconds
from tests.system_parts import PARTS

MANY = 10_000
PAGE = 25
WRITES = 60


def canonical_form(world: World, table: Table) -> None:
    """Canonical JSON of a dossier against json.dumps of the same."""
    data = canonical.loads(Dossier.objects.filter(approval=world.approvals["frei"])[0].content)
    ours = cpu_seconds(lambda: canonical.dumps(data), loops=20)
    bare = cpu_seconds(lambda: json.dumps(data, sort_keys=True, separators=(",", ":")).encode(), loops=20)
    digest = cpu_seconds(lambda: canonical.digest(data), loops=20)
    table.section("Kanonisches JSON (ein Dossier)", "unseres", "nacktes", "Verhältnis")
    table.compare("canonical.dumps : json.dumps", ours, bare)
    table.compare("canonical.digest : json.dumps", digest, bare)


def audited_write(world: World, table: Table) -> None:
    """A recorded change against the same UPDATE in its own transaction, both really committed."""
    workload = world.workloads["entwurf"]
    rows = Workload.objects.filter(pk=workload.pk)

    def audited() -> None:
        with unit(actor=SYSTEM):
            rows.update(business_process="Fertigung")
            record(AuditKind.WORKLOAD_CHANGED, actor=SYSTEM, subject=workload)

    def bare() -> None:
        with transaction.atomic():
            rows.update(business_process="Fertigung")

    ours, waiting = cpu_seconds(audited, rounds=WRITES), wall_seconds(audited, rounds=WRITES)
    guard.uninstall()
    try:
        plain, plain_waiting = cpu_seconds(bare, rounds=WRITES), wall_seconds(bare, rounds=WRITES)
    finally:
        guard.install()
    table.section(f"Schreiben (Median aus {WRITES}, mit fsync)", "protokolliert", "nackt", "Verhältnis")
    table.compare("Rechenzeit", ours, plain)
    table.compare("Wartezeit", waiting, plain_waiting)


def pages(world: World, table: Table) -> None:
    """CPU per page, and how many queries it takes."""
    cases = {name: world.approvals[name].pk for name in ("frei", "reif", "eingereicht")}
    addresses = [
        ("Startseite", "PR", reverse("start")),
        ("Workload", "owner", reverse("workload", args=[world.workloads["frei"].pk])),
        ("Freigabe", "FG", reverse("approval", args=[cases["frei"]])),
        ("Prüfen", "PR", reverse("approval_review", args=[cases["eingereicht"]])),
        ("Entscheiden", "FG", reverse("approval_decide", args=[cases["reif"]])),
        ("Nachweis", "PR", reverse("evidence", args=[world.extras["evidence"].pk])),
        ("Protokoll", "AU", reverse("audit_log")),
        ("Personen", "AD", reverse("people_list")),
        ("Seite, die es nicht gibt", "ohne", "/gibt-es-nicht/"),
        ("Anmeldung", "anonym", "/konto/login/"),
        ("Zustand (ohne Anmeldung)", "anonym", reverse("health")),
    ]
    table.section("Seiten", "Rechenzeit", "", "Abfragen")
    for label, actor, url in addresses:
        browser = world.browser(actor)
        table.single(label, cpu_seconds(partial(browser.get, url)), str(_queries(browser, url)))
    browser, url = world.browser("PR"), reverse("approval_review", args=[cases["eingereicht"]])
    data = _review(world)
    table.single("Prüfen, abgeschickt", cpu_seconds(lambda: browser.post(url, data), rounds=3))


def lists(world: World, table: Table) -> bool:
    """The list of workloads with 10,000 rows against 25; returns whether both take the same number of queries."""
    accounts = world.accounts
    names = ("workloads", "start", "approvals")
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in names}
    for count in (PAGE, MANY - PAGE):
        add_workloads(count, owner=accounts["owner"], deputy=accounts["stellv"], requests=False)
        for name in names:
            browser, url = world.browser("owner"), reverse(name)
            found[name].append((cpu_seconds(partial(browser.get, url), rounds=3), _queries(browser, url)))
    table.section(
        "Listen (Person mit vielen Rechten)",
        f"{MANY:,} Zeilen".replace(",", "."),
        f"{PAGE} Zeilen",
        "Verhältnis",
    )
    labels = {"workloads": "Workloads", "start": "Startseite", "approvals": "Freigaben"}
    same = True
    for name, ((small, few), (large, many)) in found.items():
        table.compare(f"{labels[name]} ({few} und {many} Abfragen)", large, small)
        same = same and few == many
    if not same:
        table.section("FEHLER: eine Liste braucht mit mehr Zeilen mehr Abfragen")
    return same


def sealing(world: World, table: Table) -> None:
    """Sealing with its own verification against one WeasyPrint run and as many plain pyHanko signatures."""
    if not PARTS["pango"][0]():
        table.section("Siegeln: Pango fehlt")
        return
    painted: list[Any] = []
    real = render._write
    with (
        override_settings(DEMO=True),
        mock.patch.object(render, "_write", lambda job: (painted.append(job), real(job))[1]),
    ):
        approval = demo.decide(demo.Demo(), world.approvals["reif"])
        start = time.process_time()
        jobs.run_pending()
        ours = time.process_time() - start
    mail.outbox = []
    approval.refresh_from_db()
    document = max((job for job in painted if job.fields), key=lambda job: len(job.html))
    signatures = len(document.fields)
    plain_pdf, rendering = _timed(lambda: _weasyprint(document.html))
    _signed, signing = _timed(lambda: _pyhanko(plain_pdf, signatures))
    table.section(f"Siegeln ({signatures} Felder)", "unseres", "nacktes", "Verhältnis")
    table.compare("Auftrag : WeasyPrint + pyHanko", ours, rendering + signing)
    table.single("davon WeasyPrint, nackt", rendering)
    table.single("davon pyHanko, nackt", signing)


def _timed(work: Any) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _weasyprint(html: str) -> bytes:
    import weasyprint

    style = (render._STYLES / "document.css").read_text(encoding="utf-8")
    fetcher = render._fetcher()
    sheet = weasyprint.CSS(string=style, url_fetcher=fetcher, base_url="qms:")
    page = weasyprint.HTML(string=html, url_fetcher=fetcher, base_url="qms:")
    return bytes(page.write_pdf(stylesheets=[sheet], pdf_variant="pdf/a-3a"))


def _pyhanko(pdf: bytes, count: int) -> bytes:
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
    from pyhanko.sign import signers

    signer = _signer()
    for number in range(count):
        writer = IncrementalPdfFileWriter(io.BytesIO(pdf), strict=False)
        meta = signers.PdfSignatureMetadata(field_name=f"Feld{number}")
        pdf = signers.sign_pdf(writer, meta, signer=signer).getvalue()
    return pdf


def _signer() -> Any:
    from datetime import UTC, datetime, timedelta

    from asn1crypto import keys, x509
    from cryptography import x509 as cx
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from pyhanko.sign import signers
    from pyhanko_certvalidator.registry import SimpleCertificateStore

    key = ec.generate_private_key(ec.SECP256R1())
    name = cx.Name([cx.NameAttribute(cx.NameOID.COMMON_NAME, "Muster")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = cx.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=3650))
    certificate = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return signers.SimpleSigner(
        signing_cert=x509.Certificate.load(certificate.public_bytes(serialization.Encoding.DER)),
        signing_key=keys.PrivateKeyInfo.load(private),
        cert_registry=SimpleCertificateStore(),
    )


def _queries(browser: Client, url: str) -> int:
    """Return the queries of a page; a page that is refused would be fast for the wrong reason."""
    browser.get(url)
    with CaptureQueriesContext(connection) as captured:
        answer = browser.get(url)
    if answer.status_code not in {200, 404, 503}:  # no page here, and a house without a worker
        raise RuntimeError(f"{url} answered {answer.status_code}")
    return len(captured)
