"""Saved models edited by somebody who renews every digest, as anybody with this library could."""

import json

from expunge.store import read
from expunge.store.index import File


def reseal(folder, **changed):
    """Renew the seal of a changed index."""
    index = read(folder).index.model_copy(update=changed)
    (folder / "secret/index.json").write_bytes(index.content())


def edit(folder, change, *, sealed=False, issued=None):
    """Change the document; with every digest renewed, and another chain, if told so."""
    saved = read(folder)
    path = folder / "secret" / saved.index.document.name
    change(saved.document)
    content = json.dumps(saved.document).encode()
    lineage = saved.index.lineage
    if issued is not None:
        lineage = lineage.model_copy(update={"issued": issued(saved.document)})
    if sealed:
        reseal(folder, document=File.of(path.name, content), lineage=lineage)
    path.write_bytes(content)
