"""Form of the page "GPU-Cluster": a model, a profile of connected GPUs, a load."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from pilots import catalog
from pilots.catalog import cluster
from pilots.forms_config import ConfigForm
from qms.web.widgets import ChoiceCards

AS_PROFILE: Final = _("wie im Profil")
PROFILE_VALUE: Final = _("Leer: Wert des Profils.")
HINTS: Final = {
    "DISKRET-4GPU": _("Zwei Knoten mit je zwei GPUs: PCIe im Knoten, InfiniBand dazwischen."),
    "DISKRET-4GPU-NVLINK": _("Dieselbe Kette mit NVLink im Knoten."),
}
GIGABYTES, MICROSECONDS = 1e9, 1e-6


def _optional(label: Any) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        required=False,
        localize=True,
        min_value=0.001,
        max_value=1e6,
        help_text=PROFILE_VALUE,
    )


class ClusterForm(ConfigForm):
    """A question to the cluster model. A valid form has its answer in `found`."""

    topology = forms.ChoiceField(label=_("Wie sind die GPUs verbunden?"), widget=ChoiceCards(hints=HINTS))
    device = forms.ChoiceField(label=_("GPU"), required=False)
    gpus = forms.IntegerField(label=_("GPUs, die sich das Modell teilen"), min_value=1, max_value=1024)
    engine = forms.ChoiceField(label=_("Software"))
    batch = forms.IntegerField(label=_("Anfragen zugleich"), min_value=1, max_value=cluster.LARGEST)
    prompt = forms.IntegerField(label=_("Token der Eingabe"), min_value=1, max_value=cluster.LARGEST)
    answer = forms.IntegerField(label=_("Token der Antwort"), min_value=1, max_value=cluster.LARGEST)
    local_gbytes_s = _optional(_("Bandbreite im Knoten in GB/s, eine Richtung"))
    local_us = _optional(_("Latenz im Knoten in µs"))
    remote_gbytes_s = _optional(_("Bandbreite zwischen den Knoten in GB/s je GPU, eine Richtung"))
    remote_us = _optional(_("Latenz zwischen den Knoten in µs"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Propose the chain of four GPUs of the source text, one request."""
        super().__init__(*args, **kwargs)
        topology, device, engine = (self.fields[name] for name in ("topology", "device", "engine"))
        assert isinstance(topology, forms.ChoiceField)
        assert isinstance(device, forms.ChoiceField)
        assert isinstance(engine, forms.ChoiceField)
        topology.choices = [(item.id, item.name) for item in cluster.profiles()]
        device.choices = [("", AS_PROFILE), *((item.id, item.name) for item in cluster.DEVICES.values())]
        engine.choices = sorted(cluster.ENGINES.items(), key=lambda item: item[0] != "vllm")
        self.propose(
            {
                "topology": cluster.FIRST,
                "gpus": 4,
                "engine": "vllm",
                "batch": 1,
                "prompt": 1024,
                "answer": 512,
            }
        )
        self.found: cluster.ClusterAnswer | None = None

    def clean(self) -> dict[str, Any]:
        """Read the model and ask; what is wrong is said at the field, or above all of them."""
        values = super().clean() or {}
        text = self.text_of_model(values)
        if self.errors:
            return values
        try:
            config = catalog.read_config(text)
        except catalog.NotAnswered as error:
            self.add_error("config", error.message_de)
            return values
        try:
            self.found = cluster.answer(self._asked(config, values))
        except catalog.NotAnswered as error:
            self.add_error(None, error.message_de)
        return values

    def _asked(self, config: Any, values: dict[str, Any]) -> cluster.ClusterAsked:
        return cluster.ClusterAsked(
            config,
            values["topology"],
            values["device"],
            values["gpus"],
            values["engine"],
            values["batch"],
            values["prompt"],
            values["answer"],
            local=_edit(values["local_gbytes_s"], values["local_us"]),
            remote=_edit(values["remote_gbytes_s"], values["remote_us"]),
        )

    @property
    def links(self) -> list[forms.BoundField]:
        """The numbers of the links, which most people leave as they are."""
        return [self[name] for name in ("local_gbytes_s", "local_us", "remote_gbytes_s", "remote_us")]

    @property
    def links_open(self) -> bool:
        """Whether a number of the links was entered, or refused."""
        return any(field.errors or field.value() for field in self.links)


def _edit(gbytes_s: float | None, microseconds: float | None) -> cluster.Edit:
    return cluster.Edit(
        None if gbytes_s is None else gbytes_s * GIGABYTES,
        None if microseconds is None else microseconds * MICROSECONDS,
    )
