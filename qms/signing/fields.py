"""Last touches on a rendered PDF before it is written: PDF/UA identifier and signature fields (signing.md 3.3, 3.4)."""

from __future__ import annotations

from typing import Any, Final

from qms.signing.errors import RenderFailed
from qms.signing.request import CLOSING_FIELD

_RDF_END: Final = b"</rdf:RDF>"
_PDF_UA: Final = b"""<rdf:Description xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/" rdf:about="">
<pdfuaid:part>1</pdfuaid:part></rdf:Description>
<rdf:Description xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"
 rdf:about=""><pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix><pdfaSchema:schema>PDF/UA identification schema</pdfaSchema:schema>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource"><pdfaProperty:category>internal</pdfaProperty:category>
<pdfaProperty:description>PDF/UA version identifier</pdfaProperty:description>
<pdfaProperty:name>part</pdfaProperty:name><pdfaProperty:valueType>Integer</pdfaProperty:valueType>
</rdf:li></rdf:Seq></pdfaSchema:property></rdf:li></rdf:Bag></pdfaExtension:schemas></rdf:Description>
"""
_TEXT_FIELD_KEYS: Final = ("DA", "V", "MaxLen", "Ff", "MK", "Q")


def finish(pdf: Any, field_names: tuple[str, ...]) -> None:
    """Turn the placeholders of a pydyf document into signature fields; raises RenderFailed when one is missing."""
    _add_pdf_ua(pdf)
    _drop_duplicate_attachments(pdf)
    widgets = {_text(item["T"]): item for item in pdf.objects if _is_widget(item)}
    if set(widgets) != set(field_names):
        raise RenderFailed(f"expected the fields {sorted(field_names)}, got {sorted(widgets)}")
    appearance = _empty_appearance(pdf)
    for widget in widgets.values():
        _make_signature_field(widget, appearance)
    if CLOSING_FIELD in widgets:
        _add_lock(pdf, widgets[CLOSING_FIELD])
    form = pdf.catalog.get("AcroForm")
    if form is not None:
        # Left in place it promises missing appearances, which PDF/A forbids (6.4.1-3).
        form.pop("NeedAppearances", None)
        form.pop("DA", None)
    _collapse_form_elements(pdf)


def _is_widget(item: Any) -> bool:
    return isinstance(item, dict) and item.get("Subtype") == "/Widget" and "T" in item


def _text(value: Any) -> str:
    return str(getattr(value, "string", value))


def _add_pdf_ua(pdf: Any) -> None:
    reference = int(pdf.catalog["Metadata"].split()[0])
    stream = pdf.objects[reference]
    data = b"\n".join(part if isinstance(part, bytes) else part.encode() for part in stream.stream)
    if data.count(_RDF_END) != 1:
        raise RenderFailed("expected exactly one rdf:RDF element in the metadata")
    # A second rdf:RDF element is not read by validators; the identifier must stand inside the one that is there.
    stream.stream = [data.replace(_RDF_END, _PDF_UA + _RDF_END)]


def _drop_duplicate_attachments(pdf: Any) -> None:
    found = pdf.catalog.get("AF")
    if found is not None:
        found[:] = list(dict.fromkeys(found))


def _empty_appearance(pdf: Any) -> str:
    import pydyf  # type: ignore[import-untyped]  # noqa: PLC0415 - needed by the rendering job only

    stream = pydyf.Stream([], {"Type": "/XObject", "Subtype": "/Form", "BBox": pydyf.Array([0, 0, 1, 1])})
    pdf.add_object(stream)
    return str(stream.reference.decode() if isinstance(stream.reference, bytes) else stream.reference)


def _make_signature_field(widget: Any, appearance: str) -> None:
    import pydyf  # noqa: PLC0415 - needed by the rendering job only

    widget["FT"] = "/Sig"
    for key in _TEXT_FIELD_KEYS:
        widget.pop(key, None)
    left, first, right, second = (float(value) for value in widget["Rect"])
    widget["Rect"] = pydyf.Array([min(left, right), min(first, second), max(left, right), max(first, second)])
    widget["AP"] = pydyf.Dictionary({"N": appearance})
    widget["F"] = 4  # print (ISO 32000-1, table 165)


def _add_lock(pdf: Any, widget: Any) -> None:
    import pydyf  # noqa: PLC0415 - needed by the rendering job only

    lock = pydyf.Dictionary({"Type": "/SigFieldLock", "Action": "/All", "P": 1})
    pdf.add_object(lock)
    widget["Lock"] = lock.reference


def _collapse_form_elements(pdf: Any) -> None:
    """Write the single child of a Form element without its array.

    The difference analysis does not find a field behind an array of one and then takes every later signature for a
    forbidden change of the structure tree.
    """
    for item in pdf.objects:
        if isinstance(item, dict) and item.get("Type") == "/StructElem" and item.get("S") == "/Form":
            children = item.get("K")
            if isinstance(children, list) and len(children) == 1:
                item["K"] = children[0]
