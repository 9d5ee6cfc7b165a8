"""Ensembles of recurrent classifiers of text: the paper's LSTM, all models advanced together.

    words -> embedding -> LSTM layers -> h of the top layer at the row's last word -> linear head

`LSTMClassifier` is one such network as torch writes it. `Recurrent` is the loss of many: nn.LSTM
does not go through vmap, so its gradient is written out on stacked weights (`lstm.py`); at forget
bias 0 the two agree to rounding. A record's features are its word numbers padded by 0
(`core/text.py`), whose count of words is what is not padding. Paper: two layers, cross-entropy,
PNGD with sigma^2 = 0.01 and radius 100; widths, length and initial law are not in it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.nn.functional import cross_entropy, embedding
from torch.nn.utils.rnn import pack_padded_sequence

from expunge.core.text import lengths_of
from expunge.sampling import lstm
from expunge.sampling.lstm import Layer, Trace
from expunge.sampling.networks import Network
from expunge.sampling.updates import lstm_kernels

__all__ = ["LSTMClassifier", "Recurrent"]

BYTES = {"cpu": 2**28, "cuda": 40 * 2**30}  # of one piece's activations


class LSTMClassifier(nn.Module):
    """A classifier of texts: an embedding, LSTM layers and a linear head.

    Args:
        words: Rows of the embedding: `len(vocabulary)`.
        embedding: The width of the embedding.
        hidden: The width of each layer.
    """

    def __init__(
        self, words: int, embedding: int = 64, hidden: int = 128, layers: int = 2, classes: int = 2
    ):
        super().__init__()
        self.embedding = nn.Embedding(words, embedding)
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        """Turn padded word numbers (rows, length) into scores (rows, classes)."""
        lengths = lengths_of(tokens).clamp_min(1)
        packed = pack_padded_sequence(
            self.embedding(tokens.long()), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        return self.head(self.lstm(packed)[1][0][-1])


@dataclass(frozen=True)
class Recurrent(Network):
    """The loss of LSTM classifiers, with gradients for many of them at once.

    Args:
        module: An `LSTMClassifier`, or any module with `embedding`, `lstm` and `head` of those
            kinds.
        word_bound: The default law of the embedding is uniform on +- this; 1/sqrt(width) if None.
        forget_bias: Added to every forget gate: its own bias is counted from here. At torch's 0
            a cell loses half its content after one word, and the first words of a review do not
            reach the end.
        half: Products and what is kept of each step in bfloat16, by Triton kernels on CUDA; cells,
            weights, gradients and sums over time stay float32.
    """

    module: nn.Module
    function: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    l2: float = 0.0
    word_bound: float | None = None
    forget_bias: float = 0.0
    half: bool = False

    def __post_init__(self):
        kinds = {"embedding": nn.Embedding, "lstm": nn.LSTM, "head": nn.Linear}
        for name, kind in kinds.items():
            if not isinstance(getattr(self.module, name, None), kind):
                raise ValueError(f"module.{name} must be an nn.{kind.__name__}: use LSTMClassifier")
        other = {name.split(".")[0] for name in self.shapes} - set(kinds)
        if other:
            raise ValueError(f"module.{min(other)}: only embedding, lstm and head may have weights")
        cells = self._cells
        if cells.bidirectional or cells.proj_size or cells.dropout or not cells.bias:
            raise ValueError("module.lstm must run forward, with biases, no projection, no dropout")
        if "head.bias" not in self.shapes:
            raise ValueError("module.head must have a bias")
        if self.half and not lstm_kernels.serves(self.hidden):
            raise ValueError("half needs Triton and hidden = 16, 32, 64 or 128")

    @property
    def _cells(self) -> nn.LSTM:
        cells = self.module.get_submodule("lstm")
        assert isinstance(cells, nn.LSTM)
        return cells

    @property
    def hidden(self) -> int:
        """The width of each LSTM layer."""
        return self._cells.hidden_size

    def default_bounds(self) -> Tensor:
        """torch's 1/sqrt(hidden) for cells and head, `word_bound` for the embedding.

        torch draws embeddings from N(0, 1): ten thousand words of width 64 would have norm 800
        and leave any ball that the paper's radius of 100 describes.
        """
        words = self.word_bound or self.shapes["embedding.weight"][1] ** -0.5
        bounds = {"embedding": words, "lstm": self.hidden**-0.5, "head": self.hidden**-0.5}
        return torch.cat(
            [
                torch.full((shape.numel(),), bounds[name.split(".")[0]])
                for name, shape in self.shapes.items()
            ]
        )

    @torch.no_grad()
    def outputs(self, weights: Tensor, features: Tensor) -> Tensor:
        """Scores of each model on each row: (models, rows, classes).

        Args:
            features: (rows, length) for all models, or (models, rows, length).
        """
        tokens, lengths = _words(features)
        scores = weights.new_empty(len(weights), tokens.shape[1], self.shapes["head.bias"][0])
        for models, rows in self._pieces(weights, tokens):
            own = _own(models, tokens)
            named = self.split(weights[models])
            _, last = self._forward(named, tokens[own, rows], lengths[own, rows])
            scores[models, rows] = _scores(named, last)
        return scores

    @torch.no_grad()
    def gradient(self, weights: Tensor, features: Tensor, targets: Tensor) -> Tensor:
        """Gradient of the mean loss, at each of (models, parameters).

        Args:
            features: (rows, length) for all models, or (models, rows, length).
            targets: (rows,) or (models, rows) accordingly.
        """
        tokens, lengths = _words(features)
        targets = targets.expand(tokens.shape[:2])
        gradient = torch.zeros_like(weights)
        for models, rows in self._pieces(weights, tokens):
            own = _own(models, tokens)
            seen = tokens[own, rows], lengths[own, rows], targets[own, rows]
            named = self.split(weights[models])
            share = seen[0].shape[1] / tokens.shape[1]
            self._accumulate(named, *seen, share, into=self.split(gradient[models]))
        return gradient

    def _accumulate(
        self,
        named: dict[str, Tensor],
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor,
        share: float,
        into: dict[str, Tensor],
    ) -> None:
        """Add `share` times the gradient of these rows' mean loss."""
        traces, last = self._forward(named, tokens, lengths)
        scores = _scores(named, last)
        with torch.enable_grad():
            residuals = vmap(grad(self.function), (0, 0 if len(targets) > 1 else None))(
                scores, targets if len(targets) > 1 else targets[0]
            )
        residuals = residuals * share  # (models, rows, classes)
        into["head.weight"].add_(torch.bmm(residuals.transpose(1, 2), last))
        into["head.bias"].add_(residuals.sum(1))
        upward = torch.zeros_like(traces[-1].hidden[:, 1:])
        place = _at(lengths - 1, upward)
        upward.scatter_(
            1, place, torch.bmm(residuals, named["head.weight"])[:, None].to(upward.dtype)
        )
        for number in reversed(range(len(traces))):
            layer = self._layer(named, number)
            move = lstm_kernels.backward if self.half else lstm.backward
            upward, own = move(layer, traces.pop(), upward)
            into[f"lstm.weight_ih_l{number}"].add_(own.inputs)
            into[f"lstm.weight_hh_l{number}"].add_(own.hidden)
            into[f"lstm.bias_ih_l{number}"].add_(own.bias)
            into[f"lstm.bias_hh_l{number}"].add_(own.bias)
        table = into["embedding.weight"]
        rows = _rows(tokens, table)
        summed = torch.ops.aten.embedding_dense_backward(  # sorts: the same bits every time
            upward, rows, table.shape[0] * table.shape[1], -1, False
        )
        table.add_(summed.view(table.shape))

    def _forward(
        self, named: dict[str, Tensor], tokens: Tensor, lengths: Tensor
    ) -> tuple[list[Trace], Tensor]:
        """Traces of all layers, and the top h at each row's last word: (models, rows, hidden)."""
        table = self._cast(named["embedding.weight"])
        inputs, traces = embedding(_rows(tokens, table), table.reshape(-1, table.shape[2])), []
        move = lstm_kernels.forward if self.half else lstm.forward
        for number in range(self._cells.num_layers):
            traces.append(move(self._layer(named, number), inputs))
            inputs = traces[-1].hidden[:, 1:]
        last = inputs.gather(1, _at(lengths - 1, inputs))[:, 0]
        return traces, last.to(named["head.weight"].dtype)

    def _layer(self, named: dict[str, Tensor], number: int) -> Layer:
        parts = {kind: named[f"lstm.{kind}_l{number}"] for kind in ("weight_ih", "weight_hh")}
        bias = named[f"lstm.bias_ih_l{number}"] + named[f"lstm.bias_hh_l{number}"]
        bias[:, self.hidden : 2 * self.hidden] += self.forget_bias
        return Layer(self._cast(parts["weight_ih"]), self._cast(parts["weight_hh"]), bias)

    def _cast(self, weights: Tensor) -> Tensor:
        return weights.bfloat16() if self.half else weights

    def _pieces(self, weights: Tensor, tokens: Tensor) -> Iterator[tuple[slice, slice]]:
        """Slices of models and rows whose activations fit `BYTES`."""
        cells, (_, rows, time) = self._cells, tokens.shape
        each = cells.input_size + cells.num_layers * 8 * cells.hidden_size
        size = 2 if self.half else weights.element_size()
        together = max(1, BYTES[weights.device.type] // (time * each * size))
        some_rows = min(rows, together)
        some_models = max(1, together // some_rows)
        for first in range(0, len(weights), some_models):
            for start in range(0, rows, some_rows):
                yield slice(first, first + some_models), slice(start, start + some_rows)


def _words(features: Tensor) -> tuple[Tensor, Tensor]:
    """Word numbers (models or 1, rows, time), cut after the longest row, and lengths."""
    tokens = features.long()
    tokens = tokens if tokens.dim() == 3 else tokens[None]
    lengths = lengths_of(tokens).clamp_min(1)
    return tokens[..., : int(lengths.max())], lengths


def _own(models: slice, tokens: Tensor) -> slice:
    return models if len(tokens) > 1 else slice(0, 1)


def _rows(tokens: Tensor, table: Tensor) -> Tensor:
    """Words as rows of all models' tables, one below the other: (models, time, rows)."""
    models, words, _ = table.shape
    return (
        tokens.transpose(1, 2) + words * torch.arange(models, device=tokens.device)[:, None, None]
    )


def _at(times: Tensor, like: Tensor) -> Tensor:
    """(models or 1, rows) as an index into dimension 1 of (models, time, rows, width)."""
    return times[:, None, :, None].expand(len(like), 1, -1, like.shape[3])


def _scores(named: dict[str, Tensor], last: Tensor) -> Tensor:
    bias, weight = named["head.bias"], named["head.weight"]
    return torch.baddbmm(bias[:, None], last, weight.transpose(1, 2))
