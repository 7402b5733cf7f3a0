"""Ways to tamper with a signed document, each from the shared sample to bytes, named after the flaw."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

import pikepdf
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.generic import pdf_name
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import fields, signers
from pyhanko_certvalidator.registry import SimpleCertificateStore

from qms.signing import ca, render, seal, view
from qms.signing.ca import Credential, Purpose
from qms.signing.tsa import as_asn1
from qms.signing.verify_pdf import SignedPdf
from tests.qms.signing import samples
from tests.qms.signing.samples import Chain


def _written(writer: IncrementalPdfFileWriter) -> bytes:
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def _writer(pdf: bytes) -> IncrementalPdfFileWriter:
    return IncrementalPdfFileWriter(io.BytesIO(pdf))


def byte_flipped_in_content(chain: Chain) -> bytes:
    data = bytearray(chain.final)
    data[len(chain.revisions[0]) // 2] ^= 1
    return bytes(data)


def byte_flipped_in_signature_value(chain: Chain) -> bytes:
    raw = SignedPdf(chain.final).raw_signatures()[1]
    at = raw.byte_range[1] + 1 + 2 * (len(raw.der) // 2)
    data = bytearray(chain.final)
    data[at] = ord("A") if data[at] != ord("A") else ord("B")
    return bytes(data)


def page_replaced(chain: Chain) -> bytes:
    writer = _writer(chain.final)
    page, _ = writer.find_page_for_modification(0)
    stream = generic.StreamObject(stream_data=b"BT ET")
    page.get_object()[pdf_name("/Contents")] = writer.add_object(stream)
    writer.mark_update(page)
    return _written(writer)


def stamp_added(chain: Chain) -> bytes:
    writer = _writer(chain.final)
    page, _ = writer.find_page_for_modification(0)
    stamp = generic.DictionaryObject(
        {
            pdf_name("/Type"): pdf_name("/Annot"),
            pdf_name("/Subtype"): pdf_name("/Stamp"),
            pdf_name("/Rect"): generic.ArrayObject(
                [generic.NumberObject(value) for value in (50, 50, 200, 90)]
            ),
            pdf_name("/Contents"): generic.TextStringObject("genehmigt"),
        }
    )
    body = page.get_object()
    annotations = body.get("/Annots", generic.ArrayObject())
    body[pdf_name("/Annots")] = generic.ArrayObject([*annotations, writer.add_object(stamp)])
    writer.mark_update(page)
    return _written(writer)


def _attachment(writer: IncrementalPdfFileWriter, name: str, data: bytes) -> Any:
    stream = generic.StreamObject(
        {pdf_name("/Type"): pdf_name("/EmbeddedFile"), pdf_name("/Subtype"): pdf_name("/application/json")},
        stream_data=data,
    )
    reference = writer.add_object(stream)
    return writer.add_object(
        generic.DictionaryObject(
            {
                pdf_name("/Type"): pdf_name("/Filespec"),
                pdf_name("/F"): generic.TextStringObject(name),
                pdf_name("/UF"): generic.TextStringObject(name),
                pdf_name("/EF"): generic.DictionaryObject({pdf_name("/F"): reference}),
            }
        )
    )


def _names(writer: IncrementalPdfFileWriter) -> Any:
    return writer.root["/Names"]["/EmbeddedFiles"]["/Names"]


def attachment_replaced(chain: Chain) -> bytes:
    writer = _writer(chain.final)
    names = _names(writer)
    forged = samples.decision_bytes(chain.signers, decision="ABGELEHNT")
    for position in range(0, len(names), 2):
        if str(names[position + 1]["/UF"]) == "entscheidung.json":
            names[position + 1] = _attachment(writer, "entscheidung.json", forged)
    writer.update_container(names)
    return _written(writer)


def attachment_added(chain: Chain) -> bytes:
    writer = _writer(chain.final)
    names = _names(writer)
    names.append(generic.TextStringObject("zusatz.json"))
    names.append(_attachment(writer, "zusatz.json", b"{}"))
    writer.update_container(names)
    return _written(writer)


def metadata_changed(chain: Chain) -> bytes:
    writer = _writer(chain.final)
    stream = writer.root["/Metadata"]
    changed = generic.StreamObject(
        {pdf_name("/Type"): pdf_name("/Metadata"), pdf_name("/Subtype"): pdf_name("/XML")},
        stream_data=stream.data.replace(b"Vorfreigabe", b"Hauptfreigabe"),
    )
    writer.root[pdf_name("/Metadata")] = writer.add_object(changed)
    writer.update_root()
    return _written(writer)


def _field(writer: IncrementalPdfFileWriter, name: str) -> Any:
    for found, _, reference in fields.enumerate_sig_fields(writer):
        if found == name:
            return reference
    raise AssertionError(name)


def field_appearance_replaced(chain: Chain) -> bytes:
    writer = _writer(chain.final)
    reference = _field(writer, "Freigabe_02")
    box = generic.ArrayObject([generic.NumberObject(value) for value in (0, 0, 10, 10)])
    form = generic.StreamObject(
        {
            pdf_name("/Type"): pdf_name("/XObject"),
            pdf_name("/Subtype"): pdf_name("/Form"),
            pdf_name("/BBox"): box,
        },
        stream_data=b"",
    )
    reference.get_object()[pdf_name("/AP")] = generic.DictionaryObject(
        {pdf_name("/N"): writer.add_object(form)}
    )
    writer.update_container(reference.get_object())
    return _written(writer)


def hidden_page_tree_shown(chain: Chain) -> bytes:
    """Shadow attack "hide and replace": another page tree takes the place of the signed one."""
    writer = _writer(chain.final)
    page = generic.DictionaryObject(
        {
            pdf_name("/Type"): pdf_name("/Page"),
            pdf_name("/MediaBox"): generic.ArrayObject(
                [generic.NumberObject(value) for value in (0, 0, 595, 842)]
            ),
        }
    )
    reference = writer.add_object(page)
    tree = generic.DictionaryObject(
        {
            pdf_name("/Type"): pdf_name("/Pages"),
            pdf_name("/Kids"): generic.ArrayObject([reference]),
            pdf_name("/Count"): generic.NumberObject(1),
        }
    )
    writer.root[pdf_name("/Pages")] = writer.add_object(tree)
    page[pdf_name("/Parent")] = writer.root.raw_get("/Pages")
    writer.update_root()
    return _written(writer)


def annotation_hidden(chain: Chain) -> bytes:
    """Shadow attack "hide": a signed field becomes invisible."""
    writer = _writer(chain.final)
    reference = _field(writer, "Freigabe_01")
    reference.get_object()[pdf_name("/F")] = generic.NumberObject(2)
    writer.update_container(reference.get_object())
    return _written(writer)


def trailing_bytes(chain: Chain) -> bytes:
    return chain.final + b"\n% nachtrag\n"


def _sign(
    pdf: bytes, credential: Credential, name: str, *, visible: bool, registry: tuple[Any, ...] = ()
) -> bytes:
    """Sign with pyHanko directly, past every refusal of our own."""
    writer = _writer(pdf)
    store = SimpleCertificateStore()
    store.register_multiple([as_asn1(item) for item in registry])
    plan = seal.FieldPlan(
        field=name, certificate=credential.certificate, key=credential, appearance=b"", reason="", location=""
    )
    signer = seal._PlanSigner(plan, seal.Trust(None, registry, (), ()))
    box = (60, 60, 220, 100) if visible else None
    spec = fields.SigFieldSpec(sig_field_name=name, on_page=0, box=box)
    meta = signers.PdfSignatureMetadata(
        field_name=name, md_algorithm="sha256", subfilter=fields.SigSeedSubFilter.PADES
    )
    pdf_signer = signers.PdfSigner(meta, signer, new_field_spec=spec)
    output = asyncio.run(pdf_signer.async_sign_pdf(writer))
    output.seek(0)
    return bytes(output.read())


def _insider() -> Credential:
    """A trusted certificate of somebody inside, with a key kept against all rules."""
    key = ca.make_key(ca.KeyKind.P256)
    certificate = ca.issue(
        Purpose.SEAL_OPENING, ca.Subject("Insider", samples.ORGANISATION, demo=True), key.public_key(),
        issuer=samples.hierarchy()[Purpose.ISSUING], base_url=samples.ORIGIN, at=samples.AT,
    )  # fmt: skip
    return Credential(certificate, key)


def _stranger() -> Credential:
    key = ca.make_key(ca.KeyKind.P256)
    certificate = ca.issue(
        Purpose.SEAL_OPENING, ca.Subject("Fremde Stelle", "Fremd"), key.public_key(),
        issuer=key, base_url="http://fremd", at=samples.AT,
    )  # fmt: skip
    return Credential(certificate, key)


def foreign_visible_signature(chain: Chain) -> bytes:
    return _sign(chain.final, _stranger(), "Fremd_01", visible=True)


def insider_visible_signature(chain: Chain) -> bytes:
    issuing = samples.hierarchy()[Purpose.ISSUING].certificate
    return _sign(chain.final, _insider(), "Insider_01", visible=True, registry=(issuing,))


def invisible_signature_after_lock(chain: Chain) -> bytes:
    issuing = samples.hierarchy()[Purpose.ISSUING].certificate
    return _sign(chain.final, _insider(), "Insider_01", visible=False, registry=(issuing,))


def insider_signature_on_uncertified_file(chain: Chain) -> bytes:
    """No certification, no lock: general tools call this file valid."""
    issuing = samples.hierarchy()[Purpose.ISSUING].certificate
    first = _sign(chain.revisions[0], _insider(), "Siegel_Eingang", visible=False, registry=(issuing,))
    second = _sign(first, _insider(), "Insider_02", visible=True, registry=(issuing,))
    return chain.sealer.timestamp(second, number=1)


def signature_value_zeroed(chain: Chain) -> bytes:
    raw = SignedPdf(chain.final).raw_signatures()[2]
    _, length, second, _ = raw.byte_range
    return chain.final[: length + 1] + b"0" * (second - length - 2) + chain.final[second - 1 :]


def byte_range_zeroed(chain: Chain) -> bytes:
    at = chain.final.rindex(b"/ByteRange")
    end = chain.final.index(b"]", at)
    zeroed = b"/ByteRange [0 0 0 0".ljust(end - at)
    return chain.final[:at] + zeroed + chain.final[end:]


def last_approval_cut_off(chain: Chain) -> bytes:
    return chain.revisions[2]


def timestamp_cut_off(chain: Chain) -> bytes:
    return chain.revisions[-2]


def closing_seal_cut_off(chain: Chain) -> bytes:
    return chain.revisions[-3]


def rewritten(chain: Chain) -> bytes:
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(chain.final)) as document:
        document.save(output, linearize=True)
    return output.getvalue()


def _insider_chain(chain: Chain, *, pid: str, record_sha256: str) -> bytes:
    """The whole document sealed properly, but the first field signed with a certificate of the given content."""
    certificate, key = ca.issue_one_time(
        name="Insider", pid=pid, organisation=samples.ORGANISATION, record_sha256=record_sha256,
        issuing=samples.hierarchy()[Purpose.ISSUING], base_url=samples.ORIGIN, at=samples.AT,
    )  # fmt: skip
    picture = view.AppearanceInput(
        heading="Geprüft durch", title="Insider", rows=(), small="", demo=True, seal=False
    )
    plan = seal.FieldPlan(
        field="Freigabe_01", certificate=certificate, key=key, appearance=render.render_appearance(picture),
        reason="", location="",
    )  # fmt: skip
    pdf = chain.sealer._sign(chain.revisions[1], plan, samples.AT)
    second = samples.signatory(chain.signers[1], 2, chain.records[1])
    pdf = chain.sealer.person_field(pdf, second, chain.decision).pdf
    pdf = chain.sealer.closing_seal(pdf, checkpoint=samples.CHECKPOINT).pdf
    return chain.sealer.timestamp(pdf, number=1)


def other_person_in_field(chain: Chain) -> bytes:
    return _insider_chain(chain, pid=chain.signers[1].pid, record_sha256=chain.records[0].sha256)


def certificate_without_act(chain: Chain) -> bytes:
    return _insider_chain(chain, pid=chain.signers[0].pid, record_sha256="cd" * 32)


def certificate_on_act_for_another_field(chain: Chain) -> bytes:
    return _insider_chain(chain, pid=chain.signers[0].pid, record_sha256=chain.records[1].sha256)


FLAWS: dict[str, tuple[Callable[[Chain], bytes], str]] = {
    "inhalt-byte": (byte_flipped_in_content, "Ungültig"),
    "signaturwert-byte": (byte_flipped_in_signature_value, "Ungültig"),
    "seite-ersetzt": (page_replaced, "Verändert nach Zeitstempel_01"),
    "stempel-ergaenzt": (stamp_added, "Verändert nach Zeitstempel_01"),
    "anhang-ersetzt": (attachment_replaced, "Verändert nach Zeitstempel_01"),
    "anhang-ergaenzt": (attachment_added, "Verändert nach Zeitstempel_01"),
    "metadaten-geaendert": (metadata_changed, "Verändert nach Zeitstempel_01"),
    "feldbild-ersetzt": (field_appearance_replaced, "Verändert nach Zeitstempel_01"),
    "seitenbaum-ersetzt": (hidden_page_tree_shown, "Verändert nach Zeitstempel_01"),
    "feld-versteckt": (annotation_hidden, "Verändert nach Zeitstempel_01"),
    "bytes-angehaengt": (trailing_bytes, "Verändert nach Zeitstempel_01"),
    "fremde-signatur": (foreign_visible_signature, "Ungültig: fremdes Signaturfeld Fremd_01"),
    "insider-signatur": (insider_visible_signature, "Ungültig: fremdes Signaturfeld Insider_01"),
    "insider-signatur-unsichtbar": (
        invisible_signature_after_lock,
        "Ungültig: fremdes Signaturfeld Insider_01",
    ),
    "insider-ohne-eingangssiegel": (insider_signature_on_uncertified_file, "Ungültig: Siegel_Eingang"),
    "signaturwert-genullt": (signature_value_zeroed, "Ungültig"),
    "bereich-genullt": (byte_range_zeroed, "Ungültig"),
    "freigabe-abgeschnitten": (last_approval_cut_off, "Unvollständig: Freigabe_02 fehlt"),
    "abschluss-abgeschnitten": (closing_seal_cut_off, "Unvollständig: Siegel_Abschluss fehlt"),
    "zeitstempel-abgeschnitten": (timestamp_cut_off, "Unvollständig: der Zeitstempel des Dokuments fehlt"),
    "neu-geschrieben": (rewritten, "Ungültig"),
    "andere-person-im-feld": (
        other_person_in_field,
        "Ungültig: Freigabe_01 ist von einer nicht berechtigten Person",
    ),
    "zertifikat-ohne-akt": (
        certificate_without_act,
        "Ungültig: Freigabe_01: das Zertifikat beruht auf keiner",
    ),
    "zertifikat-fremder-akt": (
        certificate_on_act_for_another_field,
        "Ungültig: Freigabe_01: das Zertifikat beruht auf keiner",
    ),
}
