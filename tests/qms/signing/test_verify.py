"""S5, S10, S19, S20: the verifier accepts the original and nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from qms.signing import ca, report, verify
from qms.signing.ca import Purpose
from qms.signing.verify_rules import Expected
from tests.qms.signing import samples, tampering

pytestmark = pytest.mark.needs("pango")
_FLIPS = 60
_ALL_FLIPS = 1000
_HEX = b"0123456789ABCDEF"


@pytest.mark.parametrize("flaw", tampering.FLAWS)
def test_tampered_file_is_never_valid(chain: samples.Chain, flaw: str) -> None:
    make, verdict = tampering.FLAWS[flaw]
    result = verify.verify(make(chain), root=chain.root, at=samples.AT)
    assert result.exit_code == report.EXIT_INVALID
    assert result.verdict.startswith(verdict), (result.verdict, result.findings)


def _flips(chain: samples.Chain, count: int, seed: int) -> list[tuple[int, int]]:
    """Half of the positions lie inside signature values, most of those in the last one, which nothing covers."""
    dice = random.Random(seed)  # noqa: S311 - positions, not secrets
    ranges = [raw.byte_range for raw in verify.SignedPdf(chain.final).raw_signatures()]
    found = []
    for number in range(count):
        if number % 2:
            _, start, end, _ = ranges[-1] if number % 4 == 1 else dice.choice(ranges)
            at = dice.randrange(start, end)
        else:
            at = dice.randrange(len(chain.final))
        found.append((at, 1 << dice.randrange(8)))
    return found


def _accepted(chain: samples.Chain, flips: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found = []
    for at, bit in flips:
        data = bytearray(chain.final)
        data[at] ^= bit
        if verify.verify(bytes(data), root=chain.root, at=samples.AT).exit_code == report.EXIT_VALID:
            found.append((at, bit))
    return found


def test_single_bit_flips_are_never_valid(chain: samples.Chain) -> None:
    assert verify.verify(chain.final, root=chain.root, at=samples.AT).valid
    assert not _accepted(chain, _flips(chain, _FLIPS, seed=1))


@pytest.mark.full
def test_a_thousand_bit_flips_are_never_valid(chain: samples.Chain) -> None:
    assert not _accepted(chain, _flips(chain, _ALL_FLIPS, seed=2))


@pytest.mark.full
def test_no_hex_digit_of_the_last_token_is_free(chain: samples.Chain) -> None:
    """The value that no later signature covers: every 29th digit changed once (rules 10 and 11)."""
    raw = verify.SignedPdf(chain.final).raw_signatures()[-1]
    start, end = raw.byte_range[1] + 1, raw.byte_range[2] - 1
    free = []
    for at in range(start, end, 29):
        data = bytearray(chain.final)
        data[at] = _next_digit(data[at])
        if verify.verify(bytes(data), root=chain.root, at=samples.AT).exit_code == report.EXIT_VALID:
            free.append(at)
    assert not free


def _next_digit(digit: int) -> int:
    return _HEX[(_HEX.index(digit) + 1) % 16]


@pytest.mark.parametrize("digit", range(0, 7000, 501))
def test_other_value_of_a_hex_digit_in_the_last_token_is_invalid(chain: samples.Chain, digit: int) -> None:
    raw = verify.SignedPdf(chain.final).raw_signatures()[-1]
    at = raw.byte_range[1] + 1 + digit
    data = bytearray(chain.final)
    data[at] = _next_digit(data[at])
    assert verify.verify(bytes(data), root=chain.root, at=samples.AT).exit_code == report.EXIT_INVALID


def test_claims_say_what_was_not_checked(chain: samples.Chain) -> None:
    answers = {
        claim.name.value: claim.answer.value
        for claim in verify.verify(chain.final, root=chain.root, at=samples.AT).claims
    }
    assert answers["Unversehrt"] == answers["Vollständig"] == answers["Identität (vertrauenswürdig)"] == "ja"
    assert answers["Anhang entspricht dem Text"] == answers["Freigabe nicht widerrufen"] == "nicht geprüft"


def test_register_confirms_attachment_and_rendering(chain: samples.Chain) -> None:
    known = Expected(chain.decision.sha256, samples.canonical.sha256_hex(chain.revisions[0]))
    result = verify.verify(chain.final, root=chain.root, at=samples.AT, expected=known)
    (claim,) = [claim for claim in result.claims if claim.name == report.ClaimName.ATTACHMENT]
    assert (result.valid, claim.answer) == (True, report.Answer.YES)


@pytest.mark.parametrize("known", [Expected(decision_sha256="ab" * 32), Expected(render_sha256="ab" * 32)])
def test_register_contradicts(chain: samples.Chain, known: Expected) -> None:
    result = verify.verify(chain.final, root=chain.root, at=samples.AT, expected=known)
    assert result.exit_code == report.EXIT_INVALID


def test_other_root_is_not_trusted(chain: samples.Chain) -> None:
    other = ca.create_hierarchy(organisation="B", base_url="http://b", demo=True, at=samples.AT)
    result = verify.verify(chain.final, root=other[Purpose.ROOT].certificate, at=samples.AT)
    assert result.exit_code == report.EXIT_INVALID
    assert result.verdict.startswith("Nicht vertrauenswürdig: Siegel_Eingang")
    assert result.intact
    assert not result.trusted


def test_document_stays_valid_for_years(chain: samples.Chain) -> None:
    assert verify.verify(chain.final, root=chain.root, at=samples.AT + timedelta(days=4 * 365)).valid


def test_expired_timestamp_is_named_and_renewal_helps(chain: samples.Chain) -> None:
    late = samples.AT + timedelta(days=6 * 365)
    assert "abgelaufen" in verify.verify(chain.final, root=chain.root, at=late).verdict


def test_demo_record_under_a_real_root_is_refused(chain: samples.Chain) -> None:
    root = samples.hierarchy(False)[Purpose.ROOT].certificate
    result = verify.verify(chain.final, root=root, at=samples.AT)
    assert any("Muster und Wurzelzertifikat" in finding.text for finding in result.findings)
    assert any("software authenticator" in finding.text for finding in result.findings)


def _run(*arguments: str, block_django: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "qms.signing.verify", *arguments]
    if block_django:
        code = (
            "import sys; sys.modules['django'] = None\n"
            "from qms.signing import verify\n"
            f"code = verify.main({list(arguments)!r})\n"
            "assert not [name for name in sys.modules if name.startswith(('django.', 'celery', 'weasyprint'))]\n"
            "raise SystemExit(code)"
        )
        command = [sys.executable, "-c", code]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "."}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def files(chain: samples.Chain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "gut.pdf").write_bytes(chain.final)
    (folder / "schlecht.pdf").write_bytes(tampering.trailing_bytes(chain))
    (folder / "root.pem").write_bytes(chain.root_pem)
    return folder


def test_exit_0_without_django(files: Path) -> None:
    done = _run(str(files / "gut.pdf"), "--root", str(files / "root.pem"), block_django=True)
    assert done.returncode == report.EXIT_VALID, done.stderr
    assert done.stdout.startswith("Gültig und vollständig (Muster – keine Freigabe)")


def test_exit_1_for_a_tampered_file_as_json(files: Path) -> None:
    done = _run(str(files / "schlecht.pdf"), "--root", str(files / "root.pem"), "--json")
    assert done.returncode == report.EXIT_INVALID
    assert json.loads(done.stdout)["verdict"].startswith("Verändert nach Zeitstempel_01")


@pytest.mark.parametrize("arguments", [[], ["nirgends.pdf"], ["--falsch"], ["README", "--root", "README"]])
def test_exit_2_for_wrong_usage(arguments: list[str]) -> None:
    assert _run(*arguments).returncode == report.EXIT_USAGE


def test_exit_2_for_a_root_that_is_no_certificate(files: Path) -> None:
    assert _run(str(files / "gut.pdf"), "--root", str(files / "gut.pdf")).returncode == report.EXIT_USAGE


def test_exit_3_without_an_anchor(files: Path) -> None:
    done = _run(str(files / "gut.pdf"))
    assert done.returncode == report.EXIT_NO_ANCHOR
    assert done.stdout.startswith("Kein Vertrauensanker angegeben")


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\n", b"kein PDF", b"%PDF-1.7\n" + b"x" * 1000])
def test_any_other_file_is_invalid(chain: samples.Chain, data: bytes) -> None:
    assert verify.verify(data, root=chain.root, at=samples.AT).exit_code == report.EXIT_INVALID


def test_root_is_what_the_document_names(chain: samples.Chain) -> None:
    assert isinstance(chain.root, x509.Certificate)
    assert ca.is_demo(chain.root)
