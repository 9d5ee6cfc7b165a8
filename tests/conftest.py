"""What every test shares: one time of issue, certificates that are proven, relative tolerances.

Two runs that should agree to the last bit do, whatever second they end in. Every certificate that a
test issues goes through the checker, so that none of the suite goes unproven. pytest's own
`approx(x, rel=r)` lets pass whatever lies within 1e-12, and so every small number there is.
"""

from typing import Any

import pytest

try:
    from expunge.accounting import issue
    from tests.accounting.proven_certificates import issue_proven
except ImportError:  # a bare machine with a GPU has no pydantic
    pass
else:
    issue.now = lambda: "2026-01-02T03:04:05Z"
    issue.issue = issue_proven(issue.issue)

_approx = pytest.approx


def _relative_where_asked(expected: Any, rel: Any = None, abs: Any = None, **given: Any) -> Any:  # noqa: A002
    absolute = 0.0 if abs is None and rel is not None else abs
    return _approx(expected, rel=rel, abs=absolute, **given)


pytest.approx = _relative_where_asked
