"""Certificates of schema 1 still verify, and lies in them are still found."""

import json
from pathlib import Path

import pytest

from expunge.accounting.canonical import fingerprints
from expunge.accounting.certificate import parse_certificate
from expunge.accounting.certificate_v1 import CertificateV1
from expunge.accounting.verification import differences, read_certificate
from expunge.errors import InvalidInput

FILES = sorted((Path(__file__).parent / "schema_1").glob("*.json"))
PIPELINE = Path(__file__).parent / "schema_1" / "pipeline.json"


def altered(path: Path, **changes) -> CertificateV1:
    """With fields changed and every fingerprint renewed, as a liar would."""
    document = json.loads(path.read_text()) | changes
    liar = CertificateV1.model_validate(document)
    renewed = fingerprints(liar.body(), CertificateV1.write)
    return liar.model_copy(update={"fingerprints": renewed})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_certificate_of_schema_1_verifies(path):
    certificate = read_certificate(path.read_text())
    assert isinstance(certificate, CertificateV1)
    assert differences(certificate) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_another_epsilon_is_found(path):
    claim = json.loads(path.read_text())["claim"]
    liar = altered(path, claim=claim | {"epsilon": claim["epsilon"] * 0.999 or 0.1})
    assert [difference.field for difference in differences(liar)] == ["claim.epsilon"]


def test_an_accident_is_named_by_its_fingerprint():
    document = json.loads(PIPELINE.read_text()) | {"model_sha256": "cd" * 32}
    (difference,) = differences(read_certificate(json.dumps(document)))
    assert difference.field == "model_sha256"


def test_another_count_of_forgotten_records_is_found():
    fields = {difference.field for difference in differences(altered(PIPELINE, forgotten=30_000))}
    assert fields == {"claim.statement", "forgotten"}


def test_only_verification_reads_schema_1():
    with pytest.raises(InvalidInput):
        parse_certificate(PIPELINE.read_text())
