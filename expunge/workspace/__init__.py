"""The verbs on a folder: fit, forget, status, predict, verify, report.

One verb a file; each takes the workspace's path and returns a document for JSON. What they share:
`tables` reads and writes CSV and Parquet, `encoding` turns columns into numbers by rules that never
look at private records, `folder` knows what lies where and keeps it whole.
"""
