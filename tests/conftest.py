"""What every test shares: certificates are issued at one fixed time, and each of them is proven.

Two runs that should agree to the last bit do, whatever second they end in. Every certificate that a
test issues goes through the checker, so that none of the suite goes unproven.
"""

try:
    from expunge.accounting import issue
    from tests.accounting.proven_certificates import issue_proven
except ImportError:  # a bare machine with a GPU has no pydantic
    pass
else:
    issue.now = lambda: "2026-01-02T03:04:05Z"
    issue.issue = issue_proven(issue.issue)
