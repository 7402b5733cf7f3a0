"""Signed measurements in the application: registering a key, what its signature is worth, revoking it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from pilots.baseline import signature
from pilots.models import MeasuringKey, Run
from pilots.services import measuring_keys
from qms.core import clock, jobs
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, WrongState
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from tests.pilots.baseline.measured_files import measured, signed, steady
from tests.walk import JSON, World, address, assert_refused, nothing_but, platform, recorded, screen, world

__all__ = ["world"]
STAGE = "classified"
pytestmark = pytest.mark.django_db
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
AFTER = datetime(2026, 11, 2, tzinfo=UTC)
SERVER = "SERVER-IM-EINSATZ"


def register(world: World, key: Ed25519PrivateKey = KEY, name: str = "pl01") -> MeasuringKey:
    return measuring_keys.register_key(actor=world.user(name), card=signature.card(key), label="Messrechner")


def upload(
    world: World, data: bytes, profile: str = SERVER, browser: Client | None = None, **more: object
) -> object:
    values = {"platform": platform(profile), "only_file": "1"}
    file = SimpleUploadedFile("messung.json", data)
    sender = browser or world.browser("pl01")
    return sender.post(address("pilot_baseline", world.workload.pk), values | {"file": file}, **more)


def baseline() -> EvidenceItem:
    return EvidenceItem.objects.get(type="EV-02", replaced_by=None)


def own_model(world: World, **more: object) -> dict[str, object]:
    return measured(world.workload.model_text, **more)


def test_a_person_registers_a_key_on_its_page_and_sees_it(world: World) -> None:
    browser, url = world.browser("pl01"), reverse("measuring_keys")
    assert "Kein Schlüssel ist registriert." in screen(browser.get(url))
    with recorded("MESSSCHLUESSEL_REGISTRIERT"):
        answer = browser.post(url, {"label": "Messrechner Halle 2", "card": signature.card(KEY)})
    assert answer.status_code == 302
    key = MeasuringKey.objects.get()
    assert (key.person, key.public_key) == (world.user("pl01").person, signature.public_text(KEY))
    shown = screen(browser.get(url))
    assert "Messrechner Halle 2" in shown
    assert key.key_id in shown
    assert "Messschlüssel verwalten" in screen(browser.get(reverse("people_profile")))


def test_a_line_that_is_none_is_refused_at_its_field(world: World) -> None:
    browser, url = world.browser("pl01"), reverse("measuring_keys")
    with nothing_but("GATE_NICHT_ERFUELLT"):
        answer = browser.post(url, {"label": "x", "card": "qms-key-1:abc:def"})
    assert answer.status_code == 422
    assert "Das ist keine gültige Registrierzeile." in screen(answer)


def test_a_key_is_registered_once_and_never_again_after_it_was_revoked(world: World) -> None:
    key = register(world)
    with pytest.raises(WrongState):
        register(world, name="wo01")
    measuring_keys.revoke_key(actor=world.user("pl01"), key_id=key.pk)
    with pytest.raises(WrongState):
        register(world)
    with pytest.raises(WrongState):
        measuring_keys.revoke_key(actor=world.user("pl01"), key_id=key.pk)


def test_of_two_who_register_a_key_at_once_the_second_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(world)
    monkeypatch.setattr(measuring_keys, "_is_known", lambda _key: False)
    with pytest.raises(WrongState, match="schon registriert"):
        register(world, name="wo01")
    assert MeasuringKey.objects.count() == 1


@pytest.mark.parametrize("name", ["pr01", "fg01", "au01", "ad01"])
def test_only_who_measures_registers_a_key(world: World, name: str) -> None:
    with pytest.raises(PermissionMissing, match="P12"):
        register(world, name=name)


def test_a_key_needs_a_name(world: World) -> None:
    with pytest.raises(CriterionNotMet):
        measuring_keys.register_key(actor=world.user("pl01"), card=signature.card(KEY), label=" ")


def test_anothers_key_is_neither_seen_nor_revoked_but_by_an_administrator(world: World) -> None:
    key = register(world)
    assert key.key_id not in screen(world.browser("wo01").get(reverse("measuring_keys")))
    with pytest.raises(NotVisible):
        measuring_keys.revoke_key(actor=world.user("wo01"), key_id=key.pk)
    assert key.key_id in screen(world.browser("ad01").get(reverse("measuring_keys")))
    with recorded("MESSSCHLUESSEL_WIDERRUFEN"):
        world.browser("ad01").post(address("measuring_key_revoke", key.pk))
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_a_signed_measurement_of_the_server_in_use_meets_g3_and_g4_1(world: World) -> None:
    """Upload over HTTP, emulate, and the rules see one workload, measured, signed, complete; no EM-12."""
    register(world)
    with clock.at(AFTER):
        answer = upload(world, signed(own_model(world), KEY))
        assert answer.status_code == 302
        item, run = baseline(), Run.objects.get(role="BASELINE")
        assert (item.assurance, item.provenance, run.source) == (
            "MESSBEFEHL_SIGNIERT",
            "GEMESSEN",
            "MESSBEFEHL",
        )
        facts = item.facts()
        assert (facts["repetitions"], facts["iterations"], facts["throughput_cv"]) == (5, 200, "0")
        assert {row["axes"]["assurance"] for row in facts["metrics"]} == {"MESSBEFEHL_SIGNIERT"}
        assert facts["platform"]["development_machine"] is False
        assert facts["platform"]["bestand"] is True
        world.browser("pl01").post(
            address("pilot_target", world.workload.pk), {"platform": platform("WSE-2")}
        )
        jobs.run_pending()
        target = Run.objects.get(role="ZIEL")
        assert target.fingerprint == run.fingerprint == facts["fingerprint"] != ""
        report = gates.report(world.workload)
    for criterion in ("G3-3", "G3-4", "G3-9", "G4-1"):
        assert report.result(criterion).result == "ERFUELLT", report.result(criterion)
    assert "vom Messbefehl signiert" in report.result("G3-4").value_de
    assert "EM-12" not in report.result("G3-4").reason_de


def test_the_page_of_the_run_says_how_it_was_measured_and_who_signed(world: World) -> None:
    key = register(world)
    upload(world, signed(own_model(world), KEY))
    shown = screen(world.browser("pl01").get(address("run", Run.objects.get().pk)))
    assert "Wie gemessen wurde" in shown
    assert "5, je 200 Durchläufe" in shown
    assert "NumPy-Auswertung von pilots.graph" in shown
    assert f"Schlüssel {key.key_id} (Messrechner)" in shown
    assert "Inhalt seit der Messung unverändert." in shown
    assert shown.count("Signiert mit dem Schlüssel") == 1
    assert "Streuung des Durchsatzes 0 %" in shown.replace("\u00a0", " ").replace("0,0", "0")
    assert "vom Messbefehl signiert" in shown


@pytest.mark.parametrize(
    ("key", "revoked", "sentence"),
    [
        (None, False, "Nicht signiert: Wer die Datei hatte, konnte sie ändern."),
        (OTHER, False, "unter „Messschlüssel“ und reichen Sie die Datei erneut ein"),
        (KEY, True, "der widerrufen ist."),
    ],
)
def test_without_a_registered_key_a_measurement_counts_as_handed_in(
    world: World, key: Ed25519PrivateKey | None, revoked: bool, sentence: str
) -> None:
    row = register(world)
    if revoked:
        measuring_keys.revoke_key(actor=world.user("pl01"), key_id=row.pk)
    upload(world, signed(own_model(world), key))
    assert baseline().assurance == "EINGEREICHT"
    assert {item["axes"]["assurance"] for item in baseline().facts()["metrics"]} == {"EINGEREICHT"}
    assert sentence in " ".join(Run.objects.get().summary["says"])


def test_a_signature_that_does_not_fit_is_refused_and_nothing_is_stored(world: World) -> None:
    register(world)
    data = signed(own_model(world), KEY).replace(b'"failed":0', b'"failed":1')
    browser = world.browser("pl01")
    with nothing_but("NACHWEIS_VERWEIGERT"):
        answer = upload(world, data, browser=browser, headers=JSON)
    assert_refused(
        answer,
        status=422,
        code="NACHWEIS_VERWEIGERT",
        id="EV-02",
        message="Die Datei des Messbefehls ist unvollständig oder verändert: die Prüfsumme passt nicht zum Inhalt. Bitte "
        "laden Sie die Datei hoch, die er geschrieben hat.",
        next_step=False,
    )


@pytest.mark.parametrize("named", [True, False])
def test_a_measurement_of_another_model_or_of_none_is_refused(world: World, named: bool) -> None:
    found = measured("4-6-2") if named else own_model(world)
    if not named:
        found["workload"]["model_digest"] = ""  # type: ignore[index]
    answer = upload(world, signed(found, KEY))
    assert "Die Datei misst ein anderes Modell als das dieses Workloads" in screen(answer)
    assert not Run.objects.exists()


def test_a_processor_is_no_gpu_cluster(world: World) -> None:
    answer = upload(world, signed(own_model(world), KEY), "DISKRET-4GPU")
    assert "bitte wählen Sie einen CPU-Server oder einen Entwicklungsrechner" in screen(answer)
    assert not Run.objects.exists()


def test_the_same_file_on_a_development_machine_keeps_its_label(world: World) -> None:
    register(world)
    upload(world, signed(own_model(world), KEY), "DIESER-RECHNER")
    assert baseline().facts()["platform"]["development_machine"] is True
    shown = screen(world.browser("pl01").get(address("run", Run.objects.get().pk)))
    assert "Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner." in shown


def test_one_measurement_is_not_handed_in_for_two_platforms(world: World) -> None:
    register(world)
    data = signed(own_model(world), KEY)
    upload(world, data, "DIESER-RECHNER")
    browser = world.browser("pl01")
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        answer = upload(world, data, SERVER, browser=browser)
    assert "Diese Messung ist schon für eine andere Plattform eingereicht" in screen(answer)
    assert upload(world, data, "DIESER-RECHNER").status_code == 302  # type: ignore[attr-defined]


@pytest.mark.parametrize("point", ["01" + "00" * 31, "00" * 32, "ec" + "ff" * 30 + "7f", "ec" + "ff" * 31])
def test_a_key_whose_signatures_fit_several_texts_is_no_key(point: str) -> None:
    """The identity and its neighbours: without a private key a "signature" fits, by chance or always."""
    public, one = bytes.fromhex(point), bytes([1]) + bytes(31)
    text = base64.b64encode(public).decode()
    for first in (one, public):
        value = base64.b64encode(first + bytes(32)).decode()
        found = {"algorithm": signature.ALGORITHM, "public_key": text, "value": value}
        for number in range(16):
            with pytest.raises(signature.SignatureError, match="Die Signatur passt nicht"):
                signature.verified_key({"number": number}, found)
        with pytest.raises(signature.SignatureError, match="keine gültige Registrierzeile"):
            signature.read_card(f"{signature.CARD}:{text}:{value}")


def test_a_spread_above_five_per_cent_fails_g3_3(world: World) -> None:
    paces = iter((1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_200_000))
    with clock.at(AFTER):
        upload(world, signed(own_model(world, clock=lambda: steady(next(paces))), KEY))
        found = gates.report(world.workload).result("G3-3")
    assert (found.result, found.reason_de) == ("NICHT_ERFUELLT", "Die Streuung des Durchsatzes ist zu groß.")


def test_the_page_of_the_baseline_shows_the_command_for_this_model(world: World) -> None:
    shown = screen(world.browser("pl01").get(address("pilot_baseline", world.workload.pk)))
    assert f"python -m pilots.baseline measure --model {world.workload.model_text} --key" in shown
