"""Codes of the workload (glossary, spec 3.1 and 4.1). Stored and exported is the catalogue value."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class WorkloadStatus(Coded):
    """State of a workload (spec 3.5.1); from IM_PILOT on it mirrors the highest active approval."""

    DRAFT = "ENTWURF", _("Entwurf")
    RECORDED = "ERFASST", _("Erfasst")
    CLASSIFIED = "KLASSIFIZIERT", _("Klassifiziert")
    SUITABLE = "GEEIGNET", _("Geeignet")
    UNSUITABLE = "NICHT_GEEIGNET", _("Nicht geeignet")
    IN_PILOT = "IM_PILOT", _("Im Pilot")
    PILOT_COMPLETED = "PILOT_ABGESCHLOSSEN", _("Pilot abgeschlossen")
    PRELIMINARILY_APPROVED = "VORFREIGEGEBEN", _("Vorfreigegeben")
    APPROVED = "FREIGEGEBEN", _("Freigegeben")
    CONDITIONALLY_APPROVED = "BEDINGT_FREIGEGEBEN", _("Bedingt freigegeben")
    REJECTED = "ABGELEHNT", _("Abgelehnt")
    SUSPENDED = "AUSGESETZT", _("Ausgesetzt")
    RETURNED = "ZURUECKGEFUEHRT", _("Zurückgeführt")
    EXPIRED = "ABGELAUFEN", _("Abgelaufen")
    DECOMMISSIONED = "STILLGELEGT", _("Stillgelegt")


class PilotStatus(Coded):
    """State of a pilot (spec 3.5.2)."""

    PLANNED = "GEPLANT", _("Geplant")
    BASELINE = "BASELINE", _("Baseline")
    PORTING = "PORTIERUNG", _("Portierung")
    TARGET_RUN = "ZIELLAUF", _("Ziellauf")
    OPERATIONAL_EVIDENCE = "BETRIEBSNACHWEIS", _("Betriebsnachweis")
    ASSESSMENT = "BEWERTUNG", _("Bewertung")
    COMPLETED = "ABGESCHLOSSEN", _("Abgeschlossen")
    PAUSED = "PAUSIERT", _("Pausiert")
    ABORTED = "ABGEBROCHEN", _("Abgebrochen")


class Mode(Coded):
    """What the workload does on the platform (G0-4)."""

    TRAINING = "TRAINING", _("Training")
    FINE_TUNING = "FEINABSTIMMUNG", _("Feinabstimmung")
    INFERENCE = "INFERENZ", _("Inferenz")


TRAINING: Final = (Mode.TRAINING, Mode.FINE_TUNING)
"""The modes in which weights change: forward and backward are computed."""


class Criticality(Coded):
    """How much the business depends on the workload (S033)."""

    NORMAL = "NORMAL", _("normal")
    BUSINESS_CRITICAL = "GESCHAEFTSKRITISCH", _("geschäftskritisch")


class AiActRole(Coded):
    """Role of the organisation under the AI Act (R-AIA-01)."""

    PROVIDER = "ANBIETER", _("Anbieter")
    DEPLOYER = "BETREIBER", _("Betreiber")
    BOTH = "ANBIETER_UND_BETREIBER", _("Anbieter und Betreiber")


class AiActRiskClass(Coded):
    """Risk class under the AI Act (R-AIA-03, R-AIA-04); VERBOTEN admits no approval."""

    MINIMAL = "MINIMAL", _("minimales Risiko")
    TRANSPARENCY = "TRANSPARENZPFLICHTIG", _("transparenzpflichtig (Art. 50)")
    HIGH_RISK_ANNEX_I = "HOCHRISIKO_ANHANG_I", _("Hochrisiko nach Anhang I")
    HIGH_RISK_ANNEX_III = "HOCHRISIKO_ANHANG_III", _("Hochrisiko nach Anhang III")
    PROHIBITED = "VERBOTEN", _("verbotene Praktik (Art. 5)")


class ObjectClass(Coded):
    """The seven object classes that are classified one by one (S096)."""

    INPUT_DATA = "EINGABEDATEN", _("Eingabedaten")
    TRAINING_DATA = "TRAININGSDATEN", _("Trainingsdaten")
    CHECKPOINTS = "CHECKPOINTS", _("Checkpoints")
    MODEL_WEIGHTS = "MODELLGEWICHTE", _("Modellgewichte")
    LOGS_TELEMETRY = "LOGS_TELEMETRIE", _("Protokolle und Telemetrie")
    OUTPUTS = "AUSGABEN", _("Ausgaben")
    METADATA = "METADATEN", _("Metadaten")


class Level(Coded):
    """Classification level in rising order (spec 4.1); unknown is not a level."""

    PUBLIC = "K0", _("öffentlich")
    INTERNAL = "K1", _("intern")
    CONFIDENTIAL = "K2", _("vertraulich")
    STRICTLY_CONFIDENTIAL = "K3", _("streng vertraulich")


class Flag(Coded):
    """Mark beside the level (spec 4.1)."""

    PERSONAL_DATA = "F-PB", _("personenbezogen")
    SPECIAL_CATEGORIES = "F-BK", _("besondere Kategorien")
    PROTECTED_WEIGHTS = "F-MG", _("Gewichte schützenswert")
    PROTECTED_OUTPUTS = "F-GA", _("Ausgaben schützenswert")
    EMPLOYEE_DATA = "F-BD", _("Beschäftigtendaten")
    TRADE_SECRET = "F-GG", _("Geschäftsgeheimnis")
    THIRD_PARTY_LICENCE = "F-DL", _("Drittlizenz")
    EXPORT_CONTROLLED = "F-EX", _("exportkontrollrelevant")
    STATE_CLASSIFIED = "F-VS", _("Verschlusssache")


class ProtectionNeed(Coded):
    """Protection need for confidentiality, integrity or availability."""

    NORMAL = "NORMAL", _("normal")
    HIGH = "HOCH", _("hoch")
    VERY_HIGH = "SEHR_HOCH", _("sehr hoch")


class LeavesEnvironment(Coded):
    """Whether anything leaves the own environment (G1-3)."""

    NO = "nein", _("nein")
    YES = "ja", _("ja")


class LogContent(Coded):
    """What the logs hold: technical values only, or payload (KF-4)."""

    TELEMETRY = "TELEMETRIE", _("technische Werte")
    PAYLOAD = "NUTZDATEN", _("Nutzdaten")


class PlatformKind(Coded):
    """Kind of a platform profile."""

    WAFER_SCALE = "WAFER_SCALE", _("Wafer-Scale-System")
    GPU_CLUSTER = "GPU_CLUSTER", _("GPU-Cluster")
    GPU_MICRO_CLUSTER = "GPU_MIKROCLUSTER", _("GPU-Mikrocluster")
    TPU_CLOUD = "TPU_CLOUD", _("TPU-Cloud")
    MANAGED_API = "MANAGED_API", _("Managed-API")
    CPU_SERVER = "CPU_SERVER", _("CPU-Server")
    DEVELOPMENT_MACHINE = "ENTWICKLUNGSRECHNER", _("Entwicklungsrechner")


class AbortCategory(Coded):
    """What an abort criterion protects (spec 3.11)."""

    QUALITY = "QUALITAET", _("Qualität")
    STABILITY = "STABILITAET", _("Stabilität")
    LATENCY = "LATENZ", _("Latenz")
    COST = "KOSTEN", _("Kosten")
    PRIVACY = "DATENSCHUTZ", _("Datenschutz")
    HARDWARE = "HARDWARE", _("Hardware")
    MONITORING = "UEBERWACHUNG", _("Überwachung")
    PORTING = "PORTIERUNG", _("Portierung")


class AbortPhase(Coded):
    """When an abort criterion applies."""

    ALL = "ALLE", _("alle Phasen")
    PILOT = "PILOT", _("Pilot")
    TRAINING = "TRAINING", _("Training")
    INFERENCE = "INFERENZ", _("Inferenz")
    OPERATION = "BETRIEB", _("Betrieb")


class MissingData(Coded):
    """What missing values mean for an abort criterion."""

    VIOLATION = "VERLETZUNG", _("gilt als Verletzung")
    WARN = "WARNEN", _("warnen")
    IGNORE = "IGNORIEREN", _("ignorieren")


class Comparator(Coded):
    """How a quality target is compared with its threshold."""

    AT_LEAST = "GE", _("mindestens")
    AT_MOST = "LE", _("höchstens")
    ABOVE = "GT", _("größer als")
    BELOW = "LT", _("kleiner als")
    EQUAL = "EQ", _("gleich")


class OptionKind(Coded):
    """The three equal options of every decision (S111)."""

    WAFER = "A", _("Wafer-Scale-Plattform nutzen")
    STAY = "B", _("auf der bestehenden Plattform bleiben")
    OTHER = "C", _("andere Plattform (GPU, TPU-Cloud, Managed-API)")


class OrganisationProfile(Coded):
    """What kind of organisation needs the platform (S041)."""

    RESEARCH = "FORSCHUNG", _("Forschungsteam")
    MODEL_PROVIDER = "MODELLANBIETER", _("Modellanbieter")
    CLOUD = "CLOUD_RZ", _("Cloud- oder Rechenzentrumsbetreiber")
    ENTERPRISE = "UNTERNEHMEN", _("Unternehmen mit wiederkehrenden großen Rechenaufgaben")
    OTHER = "SONSTIGE", _("Sonstige")


class BottleneckType(Coded):
    """What holds the workload up today (S001); memory bandwidth alone proves nothing (0.4)."""

    MEMORY_BANDWIDTH = "SPEICHERBANDBREITE", _("Speicherbandbreite")
    MEMORY_CAPACITY = "SPEICHERKAPAZITAET", _("zusammenhängender Speicher")
    COMMUNICATION = "KOMMUNIKATION", _("verteilte Kommunikation")
    RESPONSE = "LATENZ_DURCHSATZ", _("Antwortzeit oder Durchsatz")


class UsageKind(Coded):
    """How the workload is used (S047, exclusion A2)."""

    REGULAR = "REGELBETRIEB", _("Regelbetrieb")
    PROTOTYPE = "PROTOTYP", _("Prototyp")
    NOTEBOOK = "NOTEBOOK", _("Notebook")


class DeviationField(Coded):
    """An input in which a target run may differ from its baseline, each listed and approved (spec 3.7.3)."""

    BATCH = "BATCHGROESSE", _("Batchgröße")
    SEQUENCES = "SEQUENZLAENGEN", _("Längen der Eingaben und Ausgaben")
    DATASET = "DATENSATZ", _("Datensatz oder Aufteilung")
    PREPROCESSING = "VORVERARBEITUNG", _("Vorverarbeitung oder Tokenizer")
    PRECISION = "ZAHLENFORMAT", _("Zahlenformat")
    OPTIMISER = "OPTIMIERER", _("Optimierer oder Hyperparameter")
    SEED = "ZUFALLSSTART", _("Zufallsstart")
    REQUESTS = "ANFRAGEPROFIL", _("Anfrageprofil")
    FINGERPRINT = "OHNE_FINGERABDRUCK", _("Messdatei ohne Fingerabdruck")


class AlternativeOption(Coded):
    """What could be done instead (G2-5)."""

    OPTIMISED_GPU = "GPU_OPTIMIERT", _("vorhandene GPU besser nutzen")
    TPU_CLOUD = "TPU_CLOUD", _("TPU-Cloud")
    MANAGED_API = "MANAGED_API", _("Managed-API")
    NO_CHANGE = "KEINE_AENDERUNG", _("nichts ändern")
