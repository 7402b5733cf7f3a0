"""German words for the codes of the cost sheet (EV-17); the English catalogue translates them."""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import pgettext_lazy

from qms.evidence.holder_choices import CommercialModel

SIDES: Final[dict[str, Promise]] = {"baseline": lazy("Vergleichsbasis"), "target": lazy("Ziel")}
CATEGORIES: Final[dict[str, Promise | str]] = {
    "TCO-01": lazy("Rechenzeit"),
    "TCO-02": lazy("Modellportierung"),
    "TCO-03": lazy("Datenbewegung"),
    "TCO-04": pgettext_lazy("Kostenart", "Speicher"),
    "TCO-05": lazy("Netzwerk"),
    "TCO-06": lazy("Monitoring"),
    "TCO-07": lazy("Support"),
    "TCO-08": lazy("Leerstand (Auslastung)"),
    "TCO-09": lazy("Bindung/Exit"),
    "TCO-10": lazy("Personal/Plattformbetrieb"),
    "TCO-11": lazy("Energie/Kühlung/Stellfläche"),
    "TCO-12": lazy("Beschaffung/Recht/Datenschutz"),
}
CAPACITY: Final[dict[str, Promise]] = {
    "RESERVIERT": lazy("reservierte Kapazität"),
    "NUTZUNGSABHAENGIG": lazy("nach Nutzung bezahlt"),
}
MODELS: Final[dict[str, Promise | str]] = {
    "BESTAND": lazy("im Bestand"),
    **{model.value: model.label for model in CommercialModel},
}
CYCLE: Final[dict[str, Promise]] = {
    "queue_h": lazy("Warten"),
    "transfer_h": lazy("Übertragen"),
    "compile_h": lazy("Übersetzen"),
    "run_h": pgettext_lazy("Durchlauf", "Rechnen"),
    "evaluation_h": lazy("Auswerten"),
}
STEPS: Final[dict[str, Promise]] = {
    "AUSLASTUNG": lazy("Auslastung des Ziels %(change)s"),
    "MENGE": lazy("Menge %(change)s"),
    "PREIS": lazy("Preise des Ziels %(change)s"),
    "PORTIERUNG": lazy("Portierungsaufwand %(change)s"),
}
