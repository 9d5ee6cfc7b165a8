"""What every test shares: certificates are issued at one fixed time.

Two runs that should agree to the last bit do, whatever second they end in.
"""

try:
    from expunge.accounting import issue
except ImportError:  # a bare machine with a GPU has no pydantic
    pass
else:
    issue.now = lambda: "2026-01-02T03:04:05Z"
