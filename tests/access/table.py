"""The access table: every address with what each reading and each act on it needs.

An address that is missing here fails `test_access`. Expected statuses are not written down one by one: they follow
from these rows, from the permission table of the rule set (its JSON, read anew) and from the relations below.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from pilots import catalog
from pilots.choices import EFFORT_LABELS
from pilots.graph.capture import to_bytes
from pilots.views_emulator import map_token
from qms.approvals.choices import Meaning
from qms.core import clock
from qms.gates import services as gates
from qms.gates.choices import ScopeGap
from qms.workloads.models import PlatformProfile
from tests.access import (
    rows_comparison,
    rows_conditions,
    rows_costs,
    rows_deviations,
    rows_import,
    rows_measure,
    rows_platform,
    rows_suitability,
)
from tests.access.rows import (
    INVOLVED_DECIDES,
    INVOLVED_JUDGES,
    LOGIN,
    PEOPLE,
    PRODUCER_JUDGES,
    PUBLIC,
    SEES_WORKLOAD,
    UNKNOWN,
    WORKLOAD,
    Act,
    Row,
    account_args,
    approval_args,
    extra_args,
    nothing,
    person_args,
    workload_args,
)
from tests.access.world import PASSWORD, World
from tests.pilots.graph.captures import perceptron


def _new(world: World) -> dict[str, Any]:
    return {"title": "Neuer Workload"}


def _edited(world: World) -> dict[str, Any]:
    found = world.workloads["entwurf"]
    names = ("purpose", "business_process", "criticality", "mode", "model_text", "ai_act_risk_class")
    return {name: getattr(found, name) for name in names} | {
        "title": "Anders",
        "deputy": str(found.deputy_id),
    }


def _criteria(world: World) -> dict[str, Any]:
    today = clock.now().date()
    platforms = {row.key: str(row.pk) for row in PlatformProfile.objects.all()}
    return {
        "metric": "output_cosine",
        "comparator": "GE",
        "threshold": "0,999",
        "dataset_version": "Prüfdaten 1",
        "fallback_platform": platforms["DISKRET-4GPU"],
        "pilot_platform": platforms["WSE-2"],
        "pilot_start": today.isoformat(),
        "pilot_end": (today + timedelta(days=60)).isoformat(),
        "budget_cap_eur": "20.000",
        "scope": "Umfang",
        "success_measure": "Erfolg",
        "rto_min": "240",
        "fallback_steps": "1. Umschalten.",
    }


def _classes(world: World) -> dict[str, Any]:
    found = world.workloads["entwurf"].classifications.values_list("object_class", flat=True)
    return {"classes": list(found), "content_sha256": world.workloads["entwurf"].content_sha256}


def _class(world: World) -> dict[str, Any]:
    row = world.workloads["entwurf"].classifications.all()[0]
    return {"object_class": row.object_class, "level": "K3", "flags": row.flags, "reason": "vorsichtshalber"}


def _review(world: World) -> dict[str, Any]:
    answers = {
        f"subject_{item.code}": "ZUSTIMMUNG"
        for item in gates.rule_set().asked_subjects(ScopeGap.DEVELOPMENT_MACHINE)
    }
    return answers | {"meaning": Meaning.REVIEWED.value}


def _decision(world: World) -> dict[str, Any]:
    return {"decision": "FREIGEGEBEN", "reason": "Erfüllt.", "meaning": Meaning.APPROVED.value}


def _answers(world: World) -> dict[str, Any]:
    return {"KF-1": ["a"], "KF-2": ["b"], "KF-3": ["a"], "KF-4": ["b"]}


def _text(world: World) -> dict[str, Any]:
    return {"text": "Bitte ergänzen."}


def _platform(world: World) -> dict[str, Any]:
    return {"platform": str(PlatformProfile.objects.get(key="WSE-2").pk)}


def _effort(world: World) -> dict[str, Any]:
    return {f"days_{category}": "1" for category in EFFORT_LABELS}


def _account_form(world: World) -> dict[str, Any]:
    return {"username": "neu", "password": PASSWORD, "password_repeat": PASSWORD}


TINY_MODEL: Final = (
    '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,'
    ' "num_attention_heads": 1, "vocab_size": 64, "max_position_embeddings": 64, "torch_dtype": "float16"}'
)


def _asked(world: World) -> dict[str, Any]:
    question = {"machine": "wse-2", "mode": "RESIDENT", "context": "16", "batch": "1", "systems": "1"}
    return question | {"config": TINY_MODEL}


def _asked_map(world: World) -> str:
    config = catalog.read_config(TINY_MODEL)
    return f"frage={map_token(catalog.Asked(config, 'wse-2', 16, 1, 1, 'RESIDENT'))}"


class SentCapture:
    """A capture as a browser sends it, as often as it is asked for."""

    name = "modell.wgraph"
    content_type = "application/octet-stream"

    def read(self) -> bytes:
        return to_bytes(perceptron())


X, V = frozenset("X"), frozenset("V")
P36_ACT: Final = {"letters": X}

ROWS: Final[tuple[Row, ...]] = (
    Row("start", LOGIN),
    Row("workloads", LOGIN),
    Row("workload_new", LOGIN, reading="P01", post=Act("P01", data=_new)),
    Row("workload", WORKLOAD, workload_args("frei"), nothing),
    Row("workload_edit", WORKLOAD, workload_args("entwurf"), nothing, post=Act("P01", "own", _edited)),
    Row(
        "workload_owner",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        get=None,
        post=Act("P02", "own", lambda world: {"action": "accept"}, status=409),
        note="the owner role is already taken, which only those learn who could take it",
    ),
    Row("workload_data", WORKLOAD, workload_args("entwurf"), nothing, post=Act("P04", "own", _answers)),
    Row(
        "workload_adjust",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        get=None,
        post=Act("P04", "own", _class),
    ),
    Row(
        "workload_confirm",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        post=Act("P05", "review", _classes, sod=INVOLVED_JUDGES),
    ),
    Row("workload_criteria", WORKLOAD, workload_args("entwurf"), nothing, post=Act("P08", "own", _criteria)),
    Row(
        "approval_request",
        WORKLOAD,
        workload_args("frei"),
        nothing,
        post=Act("P19", "own", lambda world: {"type": "VORFREIGABE"}),
    ),
    Row("approvals", LOGIN),
    Row("approval", WORKLOAD, approval_args("frei"), nothing),
    Row(
        "approval_review",
        WORKLOAD,
        approval_args("eingereicht"),
        nothing,
        post=Act("P21", "review", _review, status=200, sod=PRODUCER_JUDGES, json=200),
    ),
    Row(
        "approval_review_sign",
        WORKLOAD,
        approval_args("eingereicht"),
        nothing,
        get=302,
        post=Act(data=lambda world: {"draft": "x", "challenge": str(UNKNOWN)}, json=302),
        note="without a draft signed for this very account everybody is sent back to the review",
    ),
    Row(
        "approval_decide",
        WORKLOAD,
        approval_args("reif"),
        nothing,
        post=Act("P23", "decide", _decision, sod=INVOLVED_DECIDES | {"PR": "SoD-04"}),
    ),
    Row(
        "approval_decide_sign",
        WORKLOAD,
        lambda world: [world.approvals["reif"].pk, world.extras["record"].pk],
        lambda world: [world.approvals["reif"].pk, UNKNOWN],
        hidden=SEES_WORKLOAD - {"FG"},
        post=Act(
            data=lambda world: {"challenge": str(UNKNOWN), "response": "{}"},
            status=422,
            hidden=SEES_WORKLOAD - {"FG"},
        ),
        note="a frozen wording exists for the person who has to sign it",
    ),
    Row(
        "approval_query",
        WORKLOAD,
        approval_args("eingereicht"),
        nothing,
        get=None,
        post=Act("P21", "review", _text, sod=PRODUCER_JUDGES),
    ),
    Row(
        "approval_answer",
        WORKLOAD,
        approval_args("eingereicht"),
        nothing,
        get=None,
        post=Act("P19", "own", _text, status=409),
        note="no question is open",
    ),
    Row(
        "approval_return",
        WORKLOAD,
        approval_args("eingereicht"),
        nothing,
        get=None,
        post=Act("P21", "review", _text, sod=PRODUCER_JUDGES),
    ),
    Row(
        "approval_withdraw",
        WORKLOAD,
        approval_args("eingereicht"),
        nothing,
        get=None,
        post=Act("P20", "own", _text),
    ),
    Row(
        "approval_document",
        WORKLOAD,
        approval_args("frei"),
        nothing,
        post=Act("P32", "view", status=409),
        note="the seal is there: nothing to repeat",
    ),
    Row("approval_evidence_zip", WORKLOAD, approval_args("frei"), nothing),
    Row("approval_verification", WORKLOAD, approval_args("frei"), nothing),
    Row("approval_gate_report", WORKLOAD, approval_args("frei"), nothing),
    Row("evidence", WORKLOAD, extra_args("evidence"), nothing),
    Row(
        "evidence_review",
        WORKLOAD,
        extra_args("evidence"),
        nothing,
        get=None,
        post=Act("P15", "review", lambda world: {"accept": "ja"}, sod={"leitung": "SoD-03"}),
    ),
    Row("evidence_file", WORKLOAD, extra_args("evidence"), nothing),
    Row("audit_log", LOGIN, reading="P33", read_letters=frozenset("Rr")),
    Row(
        "audit_export",
        LOGIN,
        reading="P34",
        post=Act("P34", data=lambda world: {"purpose": "Überwachungsaudit"}),
    ),
    Row("audit_export_file", LOGIN, extra_args("export"), nothing, reading="P34"),
    Row("audit_export_progress", LOGIN, extra_args("export"), nothing, reading="P34"),
    Row(
        "document_status",
        PUBLIC,
        lambda world: [world.approvals["frei"].number],
        lambda world: ["FRG-2000-0001-v1"],
        query=lambda world: f"h={world.approvals['frei'].decision_sha256}",
        note="who holds the document holds its digest",
    ),
    Row("health", PUBLIC),
    Row("people_first_run", PUBLIC, lambda world: [world.extras["first_run_token"]], lambda world: ["x"]),
    Row(
        "people_accept",
        PUBLIC,
        lambda world: [world.extras["invitation_token"]],
        lambda world: ["x"],
        post=Act(data=_account_form),
    ),
    Row("people_list", PEOPLE),
    Row(
        "people_invite",
        PEOPLE,
        hidden=frozenset({"PR", "AU"}),
        post=Act(
            "P36", data=lambda world: {"display_name": "Person 20", "email": "p20@example.org"}, **P36_ACT
        ),
    ),
    Row("people_detail", PEOPLE, person_args("ohne"), nothing),
    Row(
        "people_request_role",
        PEOPLE,
        person_args("fremd"),
        nothing,
        get=None,
        post=Act(
            "P36",
            data=lambda world: {"role": "FG", "action": "ERTEILEN", "reason": "Aufgabe"},
            sod={"fremd": "SoD-07"},
            **P36_ACT,
        ),
    ),
    Row(
        "people_confirm",
        PEOPLE,
        extra_args("role_request"),
        nothing,
        get=None,
        post=Act("P36", letters=V, sod={"AD": "SoD-07", "ohne": "SoD-07"}),
    ),
    Row(
        "people_reject",
        PEOPLE,
        extra_args("role_request"),
        nothing,
        get=None,
        post=Act("P36", data=lambda world: {"reason": "nein"}, letters=V | X, sod={"ohne": "SoD-07"}),
    ),
    Row(
        "people_invite_account",
        PEOPLE,
        person_args("fremd"),
        nothing,
        get=None,
        post=Act("P36", sod={"fremd": "SoD-07"}, **P36_ACT),
    ),
    Row(
        "people_service_account",
        PEOPLE,
        person_args("aus"),
        nothing,
        get=None,
        post=Act("P36", data=lambda world: {"username": "dienst2"}, **P36_ACT),
    ),
    Row(
        "people_deactivate",
        PEOPLE,
        account_args("fremd"),
        lambda world: [99999],
        get=None,
        post=Act("P36", data=lambda world: {"reason": "weg"}, sod={"fremd": "SoD-07"}, **P36_ACT),
    ),
    Row(
        "people_reactivate",
        PEOPLE,
        account_args("aus"),
        lambda world: [99999],
        get=None,
        post=Act("P36", data=lambda world: {"reason": "da"}, **P36_ACT),
    ),
    Row("people_profile", LOGIN),
    Row("emulator", LOGIN, post=Act(data=_asked, status=200, json=200), note="an answer stores nothing"),
    Row("emulator_map", LOGIN, query=_asked_map),
    Row("fabric", LOGIN),
    Row(
        "pilot_model",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        post=Act("P01", "own", lambda world: {"file": SentCapture(), "level": "K2"}),
    ),
    Row("pilot_baseline", WORKLOAD, workload_args("frei"), nothing, post=Act("P12", "run")),
    Row(
        "pilot_porting",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        post=Act("P13", "run", _effort, status=422),
        note="the porting report comes with the target run",
    ),
    Row("pilot_target", WORKLOAD, workload_args("frei"), nothing, post=Act("P13", "run", _platform)),
    Row("run", WORKLOAD, extra_args("target"), nothing),
    Row("run_progress", WORKLOAD, extra_args("target"), nothing),
    Row("run_map", WORKLOAD, extra_args("target"), nothing),
    Row(
        "run_replay",
        WORKLOAD,
        extra_args("target"),
        nothing,
        get=None,
        post=Act("P33", "view", letters=frozenset("Rr")),
        note="who may read the record may check it",
    ),
    Row("replay_progress", WORKLOAD, extra_args("replayed"), nothing),
    Row("run_model", WORKLOAD, extra_args("captured"), nothing, reading="P13"),
    Row(
        "run_cancel",
        WORKLOAD,
        extra_args("target"),
        nothing,
        get=None,
        post=Act("P13", "run", status=409),
        note="the run has ended",
    ),
    *rows_comparison.ROWS,
    *rows_conditions.ROWS,
    *rows_costs.ROWS,
    *rows_deviations.ROWS,
    *rows_import.ROWS,
    *rows_measure.ROWS,
    *rows_platform.ROWS,
    *rows_suitability.ROWS,
)

ACCOUNT_PAGES: Final = (
    frozenset({"people_demo_login", "set_language"})
    | frozenset(
        f"account_{name}"
        for name in (
            *("login", "logout", "inactive", "signup", "reauthenticate", "request_reauthentication_code"),
            *(
                "confirm_reauthentication_code",
                "email",
                "email_verification_sent",
                "change_password",
                "set_password",
            ),
            *("reset_password", "confirm_login_code", "confirm_email", "reset_password_from_key_done"),
            *("reset_password_from_key", "reset_password_done"),
        )
    )
    | frozenset(
        f"mfa_{name}"
        for name in (
            *(
                "index",
                "authenticate",
                "reauthenticate",
                "activate_totp",
                "deactivate_totp",
                "view_recovery_codes",
            ),
            *("generate_recovery_codes", "download_recovery_codes", "list_webauthn", "add_webauthn"),
            *("reauthenticate_webauthn", "remove_webauthn", "edit_webauthn", "login_webauthn"),
        )
    )
)
"""Pages of the own account (allauth's, some of them wrapped): no object of this product is reached through them.
`test_account_pages` says what each answers."""
