"""The page "Emulator": ask about a language model and see the answer. Nothing is stored, nothing becomes evidence."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from pilots import catalog, pages_emulator
from pilots import pages_blocks as blocks
from pilots.catalog import wafer_map
from pilots.forms import EmulatorForm
from qms.core.errors import NotVisible
from qms.web.answers import submit, wants_json

SALT: Final = "pilots.emulator"
EXAMPLE: Final = """{
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "num_hidden_layers": 32,
  "num_attention_heads": 32,
  "num_key_value_heads": 8,
  "vocab_size": 128256,
  "max_position_embeddings": 131072,
  "rope_theta": 500000.0,
  "torch_dtype": "bfloat16",
  "_name_or_path": "Llama-3.1-8B"
}"""


@login_required
@require_http_methods(["GET", "POST"])
def emulator(request: HttpRequest) -> HttpResponse:
    """Ask for a model and a machine; the answer stands on the same page."""
    initial = {"config": EXAMPLE} if "beispiel" in request.GET else {}
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = EmulatorForm(*sent, initial=initial)

    def command() -> HttpResponse:
        assert form.asked is not None
        assert form.found is not None
        if wants_json(request):
            return JsonResponse(pages_emulator.as_json(form.found))
        return _page(request, form, _answer(request, form.asked, form.found))

    def page() -> HttpResponse:
        return _page(request, form, None)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_GET
def emulator_map(request: HttpRequest) -> HttpResponse:
    """The wafer map of an answer: the question travels signed in the address, so no one can make one up."""
    try:
        asked = catalog.asked_from_json(signing.loads(request.GET.get("frage", ""), salt=SALT))
        found = catalog.answer(asked)
    except (signing.BadSignature, catalog.NotAnswered) as error:
        raise NotVisible(_("Diese Karte gibt es nicht.")) from error
    view = blocks.view_of(request.GET.get("ansicht"))
    png = wafer_map.tiles_png(catalog.estimate_tiles(found, view), view)
    return HttpResponse(png, content_type="image/png")


def map_token(asked: catalog.Asked) -> str:
    """Return a question as the address of its map carries it."""
    return signing.dumps(asked.to_json(), salt=SALT, compress=True)


def _answer(request: HttpRequest, asked: catalog.Asked, found: catalog.Estimate) -> dict[str, Any]:
    view = blocks.view_of(request.POST.get("ansicht"))
    query = urlencode({"frage": map_token(asked), "ansicht": view.value})
    map_url = f"{reverse('emulator_map')}?{query}"
    return pages_emulator.answer(found, view=view, map_url=map_url, page_url=reverse("emulator"))


def _page(request: HttpRequest, form: EmulatorForm, answer: dict[str, Any] | None) -> HttpResponse:
    return render(request, "pilots/emulator.html", {"form": form, "answer": answer})
