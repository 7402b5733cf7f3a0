"""The door to the pure packages: what a workload's model, machine and benchmark file are called over there.

Turns their errors into refusals with one German sentence. No Django models here.
"""

from pilots.catalog.again import replay
from pilots.catalog.baseline import Imported, Measured, read_benchmark, refused, run_baseline
from pilots.catalog.claims import ClaimAnswer, claims_about
from pilots.catalog.figures import EMULATED, FROM_MACHINE, Figure, State
from pilots.catalog.forecast import Forecast
from pilots.catalog.forecast import axes_of as forecast_axes
from pilots.catalog.forecast import compare as compare_forecast
from pilots.catalog.hooks import Hooks
from pilots.catalog.joined import ImportedRun, TableReading, cut_table, read_files, read_handed_in
from pilots.catalog.maps import Failures, Way, estimate_tiles, failures, run_tiles, ways
from pilots.catalog.measured import GRAPH, SignatureError, assured, key_id, read_card
from pilots.catalog.model import (
    LoadedModel,
    Tolerance,
    load_model,
    read_model,
    stored_file,
    workload_fingerprint,
)
from pilots.catalog.published import Beside, Nearest, published_beside
from pilots.catalog.scaling import Grown, over_systems
from pilots.catalog.target import MACHINE_OF_PROFILE, Emulated, RunNote, emulates, machine_of, run_target
from pilots.catalog.whatif import (
    MAX_CONFIG_BYTES,
    MODES,
    Asked,
    Choice,
    NotAnswered,
    answer,
    asked_from_json,
    causes,
    choices,
    figures,
    listing_of,
    memory,
    provenance,
    read_config,
    state_of,
)
from pilots.graph.porting import EFFORT_CATEGORIES
from pilots.wafer.emulator import calibration_note
from pilots.wafer.estimate import Estimate

__all__ = [
    "EFFORT_CATEGORIES",
    "EMULATED",
    "FROM_MACHINE",
    "GRAPH",
    "MACHINE_OF_PROFILE",
    "MAX_CONFIG_BYTES",
    "MODES",
    "Asked",
    "Beside",
    "Choice",
    "ClaimAnswer",
    "Emulated",
    "Estimate",
    "Failures",
    "Figure",
    "Forecast",
    "Grown",
    "Hooks",
    "Imported",
    "ImportedRun",
    "LoadedModel",
    "Measured",
    "Nearest",
    "NotAnswered",
    "RunNote",
    "SignatureError",
    "State",
    "TableReading",
    "Tolerance",
    "Way",
    "answer",
    "asked_from_json",
    "assured",
    "calibration_note",
    "causes",
    "choices",
    "claims_about",
    "compare_forecast",
    "cut_table",
    "emulates",
    "estimate_tiles",
    "failures",
    "figures",
    "forecast_axes",
    "key_id",
    "listing_of",
    "load_model",
    "machine_of",
    "memory",
    "over_systems",
    "provenance",
    "published_beside",
    "read_benchmark",
    "read_card",
    "read_config",
    "read_files",
    "read_handed_in",
    "read_model",
    "refused",
    "replay",
    "run_baseline",
    "run_target",
    "run_tiles",
    "state_of",
    "stored_file",
    "ways",
    "workload_fingerprint",
]
