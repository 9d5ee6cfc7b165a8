"""A certificate held against itself: which fields were altered, which numbers do not follow.

Reads schema 2 and schema 1. Fingerprints find accidents; recomputation finds whoever renewed the
fingerprints but not the arithmetic. Where python-flint is installed, a claim with a witness is not
only recomputed but proven: the checker shares no code with the accountant.
"""

import json
import math
from typing import Any

from expunge.accounting import checker
from expunge.accounting.canonical import Difference, altered_fields, leaves
from expunge.accounting.certificate import Certificate
from expunge.accounting.certificate_v1 import CertificateV1
from expunge.accounting.document import validate
from expunge.accounting.issue import recompute
from expunge.accounting.json_text import USUAL, JsonLimits, parse_json
from expunge.accounting.proofs import ProofLevel
from expunge.errors import InvalidInput, MissingPackage, Refused

__all__ = [
    "AnyCertificate",
    "Difference",
    "differences",
    "file_differences",
    "proof_level",
    "read_certificate",
]

AnyCertificate = Certificate | CertificateV1
LAST_DIGITS = 1e-12  # relative difference that another machine's arithmetic may make
ALLOWANCE = 1e-9  # what the accountant's allowance for rounding changed since schema 1, or covers


def read_certificate(text: str, limits: JsonLimits = USUAL) -> AnyCertificate:
    """Read a certificate of any schema version.

    Raises:
        InvalidInput: the text is not a certificate.
    """
    document = parse_json(text, limits)
    old = isinstance(document, dict) and document.get("schema_version") == "1"
    return validate(CertificateV1 if old else Certificate, document)


def differences(certificate: AnyCertificate) -> list[Difference]:
    """Every altered field, and every number that its own history does not support.

    Raises:
        MissingPackage: the claim rests on a bound of a package that is not installed.
    """
    body = certificate.body()
    problems = dict(altered_fields(body, certificate.fingerprints, certificate.write))
    try:
        supported = _supported_body(certificate)
    except (InvalidInput, Refused) as error:
        if isinstance(error, MissingPackage) and not problems:
            raise
        field, problem = _culprit(error, body)
        problems.setdefault(field, problem)
        return [Difference(*item) for item in problems.items()]
    problems |= {fault.field: fault.problem for fault in _unproven(certificate)}
    tolerance = ALLOWANCE if _accountant_stands_in(certificate) else LAST_DIGITS
    stated, follows = dict(leaves(body)), dict(leaves(supported))
    for field in [*stated, *(path for path in follows if path not in stated)]:
        if not _agree(stated.get(field), follows.get(field), tolerance):
            problems[field] = (
                f"states {json.dumps(stated.get(field))}, "
                f"its history supports {json.dumps(follows.get(field))}"
            )
    return [Difference(*item) for item in problems.items()]


def proof_level(certificate: AnyCertificate) -> ProofLevel:
    """What `differences` does here: prove the claim from its witness, or recompute it."""
    return "proven" if _is_provable(certificate) else "recomputed"


def _is_provable(certificate: AnyCertificate) -> bool:
    known = isinstance(certificate, Certificate) and certificate.witness is not None
    return known and certificate.claim.bound == "shift" and checker.available()


def _accountant_stands_in(certificate: AnyCertificate) -> bool:
    """Whether the accountant, allowance included, is all there is to hold the figures against."""
    old = not isinstance(certificate, Certificate)
    return old or (certificate.proof == "proven" and not checker.available())


def _unproven(certificate: AnyCertificate) -> list[Difference]:
    """What the checker does not accept of a claim with a witness: every figure, to the last bit."""
    if not (isinstance(certificate, Certificate) and _is_provable(certificate)):
        return []
    assert certificate.witness is not None
    claim = certificate.claim
    try:
        if claim.mu is None:
            raise InvalidInput("claim.mu", "is missing: the shift bound has one")
        mu = checker.prove_mu(*certificate.records_of_history(), certificate.witness.record())
        if mu > claim.mu:
            raise InvalidInput("claim.mu", f"is {claim.mu!r}, but its witness proves {mu!r} only")
        checker.check_figures(claim.mu, epsilon=claim.epsilon, delta=claim.delta, renyi=claim.renyi)
    except InvalidInput as error:
        return [Difference(error.field, error.problem)]
    return []


def file_differences(certificate: AnyCertificate, sha256: str) -> list[Difference]:
    """What the certificate says against a model's file with this hash; nothing if it names it.

    A commitment is the hash of a file with a salt.
    """
    committed = certificate.commitments.get("model")
    stated = certificate.model_sha256 or committed
    field = "commitments" if stated is not None and stated == committed else "model_sha256"
    if stated == sha256:
        return []
    missing = "is missing: the certificate names no model's file"
    return [Difference(field, missing if stated is None else "is that of another model's file")]


def _supported_body(certificate: AnyCertificate) -> dict[str, Any]:
    """The body that this certificate's own history and stated facts support.

    Raises:
        InvalidInput, Refused: they support no certificate.
    """
    if not isinstance(certificate, Certificate):
        return certificate.supported_body()
    body = recompute(certificate).body()
    return body | {"proof": certificate.proof} if _accountant_stands_in(certificate) else body


def _culprit(error: InvalidInput | Refused, body: dict[str, Any]) -> tuple[str, str]:
    """The field that a refusal is about; the history, where it names none of the certificate's."""
    if isinstance(error, InvalidInput) and error.field.split(".")[0].split("[")[0] in body:
        return error.field, error.problem
    return "history", f"supports no certificate: {error}"


def _agree(stated: object, supported: object, tolerance: float) -> bool:
    """Whether both are equal, or numbers that differ by no more than the tolerance."""
    if isinstance(stated, float) and isinstance(supported, float):
        return math.isclose(stated, supported, rel_tol=tolerance, abs_tol=1e-300)
    return stated == supported
