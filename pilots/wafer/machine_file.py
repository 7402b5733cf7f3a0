"""Machine files: a machine description as JSON, every figure as {"value", "provenance", "source"}.

`load` is strict: one wrong, missing, unknown or duplicate field gives one German sentence with its name, its value and
what is allowed. RANGES bounds every figure; RULES says how figures depend on one another. A file may repeat a shipped
machine, but neither take its id for other figures nor call itself calibrated.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any, Final

from pilots.wafer import strict
from pilots.wafer.machine import (
    ClockProfile,
    Density,
    Figure,
    Machine,
    Peak,
    PowerProfile,
    UnknownMachine,
    find,
)
from pilots.wafer.machine_rules import PEAK_TERAFLOPS, RANGES, RULES
from pilots.wafer.strict import BadValue, Contradiction
from qms.core.values import Provenance

FORMAT: Final = "wmachine-1"
MAX_CHARACTERS: Final = 2**20
MAX_PROFILES: Final = 8
_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}(@[a-z0-9-]{1,20})?")
_PROFILE: Final = re.compile(r"[a-z0-9-]{1,20}")
_FIGURE: Final = ("value", "provenance", "source")
_PROVENANCES: Final = tuple(item.value for item in Provenance if item is not Provenance.EMULATED)

OPTIONAL: Final = tuple(item.name for item in fields(Machine) if "None" in str(item.type))
REQUIRED: Final = tuple(name for name in RANGES if name not in OPTIONAL)
_PLAIN: Final = ("format", "id", "name", "calibrated", "clocks", "powers", "peaks")


def dump(machine: Machine) -> str:
    """Return the machine as the text of a machine file; `load` reads it back as an equal machine."""
    return json.dumps({"format": FORMAT} | machine.to_json(), ensure_ascii=False, indent=1) + "\n"


def load(text: str) -> Machine:
    """Return the machine of a file's text; raises a `strict.FileError` naming the first wrong field."""
    value = strict.parsed(text, max_characters=MAX_CHARACTERS)
    data = strict.fields_of("", value, (*_PLAIN, *REQUIRED), OPTIONAL)
    if data["format"] != FORMAT:
        raise BadValue("format", data["format"], f"„{FORMAT}“")
    names = [name for name in RANGES if name in data]
    figures: dict[str, Any] = dict.fromkeys(OPTIONAL)
    figures |= {name: _figure(name, data[name], RANGES[name]) for name in names}
    machine = Machine(
        id=strict.matching("id", data["id"], _ID, "eine Kennung wie „wse-2“ oder „wse-2@research“"),
        name=strict.text("name", data["name"]),
        calibrated=strict.flag("calibrated", data["calibrated"]),
        clocks=tuple(_clock(path, item) for path, item in _profiles("clocks", data["clocks"], least=1)),
        powers=tuple(_power(path, item) for path, item in _profiles("powers", data["powers"], least=0)),
        peaks=tuple(_peak(path, item) for path, item in _profiles("peaks", data["peaks"], least=0)),
        **figures,
    )
    _check_profiles(machine)
    for rule in RULES:
        if sentence := rule.sentence_de(machine):
            raise Contradiction(rule.field, sentence)
    _check_identity(machine)
    return machine


def _check_profiles(machine: Machine) -> None:
    for field, names in (
        ("clocks", [item.name for item in machine.clocks]),
        ("powers", [item.name for item in machine.powers]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Contradiction(field, f"Das Profil „{twice}“ steht in „{field}“ zweimal.")
    powers = [item.name for item in machine.powers]
    for index, item in enumerate(machine.clocks):
        if item.power and item.power not in powers:
            raise BadValue(f"clocks[{index}].power", item.power, f"ein Profil aus „powers“: {powers}")
    profile = machine.id.partition("@")[2]
    if profile and profile not in [item.name for item in machine.clocks[1:]]:
        raise BadValue("id", machine.id, "hinter dem @ der Name eines weiteren Profils aus „clocks“")


def _check_identity(machine: Machine) -> None:
    shipped = _shipped(machine.id)
    if shipped is None and _shipped(machine.id.partition("@")[0]) is None:
        if machine.calibrated:
            raise BadValue("calibrated", True, "false, denn kalibriert ist nur eine mitgelieferte Maschine")
    elif machine != shipped:
        raise Contradiction(
            "id",
            f"Die Kennung „{machine.id}“ gehört einer mitgelieferten Maschine mit anderen Werten; "
            "vergeben Sie eine eigene.",
        )


def _shipped(machine_id: str) -> Machine | None:
    try:
        return find(machine_id)
    except UnknownMachine:
        return None


def _profiles(path: str, value: Any, *, least: int) -> list[tuple[str, Any]]:
    return strict.items(path, value, least=least, most=MAX_PROFILES)


def _figure(path: str, value: Any, allowed: tuple[int, int, str]) -> Figure:
    data = strict.fields_of(path, value, _FIGURE)
    amount = strict.whole_number(path, data["value"], *allowed)
    provenance = data["provenance"]
    if provenance not in _PROVENANCES:
        raise BadValue(f"{path}.provenance", provenance, f"eine Herkunft aus {', '.join(_PROVENANCES)}")
    return Figure(amount, Provenance(provenance), strict.text(f"{path}.source", data["source"]))


def _clock(path: str, value: Any) -> ClockProfile:
    data = strict.fields_of(path, value, ("name", "power", "hz"))
    power = data["power"]
    return ClockProfile(
        name=_profile_name(f"{path}.name", data["name"]),
        hz=_figure(f"{path}.hz", data["hz"], RANGES["clock_hz"]),
        power="" if power == "" else _profile_name(f"{path}.power", power),
    )


def _power(path: str, value: Any) -> PowerProfile:
    data = strict.fields_of(path, value, ("name", "watts"))
    watts = _figure(f"{path}.watts", data["watts"], RANGES["power_watts_max"])
    return PowerProfile(_profile_name(f"{path}.name", data["name"]), watts)


def _peak(path: str, value: Any) -> Peak:
    data = strict.fields_of(path, value, ("precision", "density", "note_de", "teraflops"))
    densities = tuple(item.value for item in Density)
    if data["density"] not in densities:
        raise BadValue(f"{path}.density", data["density"], f"eines von {', '.join(densities)}")
    return Peak(
        teraflops=_figure(f"{path}.teraflops", data["teraflops"], PEAK_TERAFLOPS),
        precision=strict.text(f"{path}.precision", data["precision"]),
        density=Density(data["density"]),
        note_de=strict.text(f"{path}.note_de", data["note_de"]),
    )


def _profile_name(path: str, value: Any) -> str:
    return strict.matching(
        path, value, _PROFILE, "ein Name aus 1 bis 20 Kleinbuchstaben, Ziffern und Strichen"
    )
