# pyright: reportCallIssue=false
"""Loops over stacked models compiled by numba, each in the thread that calls it.

    normals   xi as `counters.py` defines it, with the same bits
    update    weights <- Proj( shrink weights - rate gradient + noise_std xi ), one pass over memory
    softmax   over the outputs of stacked scores, in place

Operations are rounded one by one in the order written, nothing is contracted or reordered: the bits
do not depend on the width of a machine's vectors. exp(x) = 2^n p(r) with n = round(x / ln 2) and
r = x - n ln 2, p of degree 7: a probability above 1e-37 is within (4 + outputs/2 + d) 2^-23 of its
value, relatively, where d is how far its score lies below the largest.
"""

import functools

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from expunge.core.counters import COSINE, FIRST, LOG, OCTAVE, SECOND, SINE, WEYL

__all__ = ["normals", "softmax", "update"]

CHUNK = 256  # words, or rows of scores, at a time: what is worked on stays next to the core

_f, _i, _u = np.float32, np.int32, np.uint64
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7 = map(_f, LOG)
_S0, _S1, _S2, _S3, _S4 = map(_f, SINE)
_C0, _C1, _C2, _C3, _C4 = map(_f, COSINE)
_OCTAVE, _TURN = _f(OCTAVE), _f(2.0**-31)
_WEYL, _FIRST, _SECOND = _u(WEYL), _u(FIRST), _u(SECOND)
_30, _27, _31, _32 = map(_u, (30, 27, 31, 32))
_ODD, _SIZE, _MANTISSA, _UNIT = _i(1), _i(0x7FFFFFFF), _i(0x007FFFFF), _i(0x3F800000)
_TOP = _i(0x4F000000)  # of 2^31
_ZERO, _ONE, _MIDDLE = _f(0), _f(1), _f(1.5)

# Cody and Waite's ln 2 in two parts, and Cephes' expf: e^r = 1 + r + r^2 (...) on |r| <= ln(2)/2.
_LOG2E, _LN2, _LN2_REST = _f(1.44269504088896341), _f(0.693359375), _f(-2.12194440e-4)
_E2, _E3, _E4, _E5, _E6, _E7 = map(
    _f, (5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3,
         1.9875691500e-4)
)  # fmt: skip
_INTEGER = _f(1.5 * 2**23)  # added, it leaves the nearest integer in the last bits
_BIAS, _EXPONENT = _i(127 - 0x4B400000), _i(23)
_LEAST = _f(-87.0)  # e^-87 is still a normal number


def _compiled(loop):
    """Machine code that releases the interpreter, kept on disk where there is a place for it."""
    compiler = functools.partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return compiler(cache=True)(loop)
    except RuntimeError:  # a read-only installation and no home: compiled in every process
        return compiler()(loop)


@intrinsic
def _as_float(_typing, _bits):
    """The float32 with the bits of an int32."""
    signature = numba.types.float32(numba.types.int32)
    return signature, lambda _context, builder, _signature, given: builder.bitcast(
        given[0], ir.FloatType()
    )


@intrinsic
def _as_int(_typing, _number):
    """The bits of a float32 as an int32."""
    signature = numba.types.int32(numba.types.float32)
    return signature, lambda _context, builder, _signature, given: builder.bitcast(
        given[0], ir.IntType(32)
    )


@_compiled
def _words(key, position, low, high, count):
    """`counters.words` in halves; the last bit of the low one is set."""
    for i in range(count):
        x = key + (position + _u(i)) * _WEYL
        x = (x ^ (x >> _30)) * _FIRST
        x = (x ^ (x >> _27)) * _SECOND
        x = x ^ (x >> _31)
        low[i] = _i(x) | _ODD
        high[i] = _i(x >> _32)


@_compiled
def _box_muller(low, high, cosine, sine, count):
    """`counters._box_muller`."""
    for i in range(count):
        signed = _f(low[i])
        bits = _i(_as_int(signed) & _SIZE)
        m = _as_float(_i((bits & _MANTISSA) | _UNIT)) - _MIDDLE
        log = ((((m * _L7 + _L6) * m + _L5) * m + _L4) * m + _L3) * m
        log = ((log + _L2) * m + _L1) * m + _L0
        squared = _f(_i(bits - _TOP)) * _OCTAVE + log
        radius = np.sqrt(squared if squared > _ZERO else _ZERO)
        radius = radius if signed > _ZERO else -radius
        turn = _f(high[i]) * _TURN
        t = turn * turn
        sine[i] = ((((t * _S4 + _S3) * t + _S2) * t + _S1) * t + _S0) * turn * radius
        cosine[i] = ((((t * _C4 + _C3) * t + _C2) * t + _C1) * t + _C0) * (_ONE - t) * radius


@_compiled
def normals(key, first, out):
    """Normals of models first.., key unsigned, into (models, 2, pairs) float32."""
    models, _, pairs = out.shape
    low, high = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    for model in range(models):
        for start in range(0, pairs, CHUNK):
            count = min(CHUNK, pairs - start)
            _words(key, _u((first + model) * pairs + start + 1), low, high, count)
            _box_muller(low, high, out[model, 0, start:], out[model, 1, start:], count)


@_compiled
def _moved(weights, gradient, xi, shrink, rate, noise_std):
    for i in range(len(weights)):
        weights[i] = weights[i] * shrink - gradient[i] * rate + xi[i] * noise_std


@_compiled
def _norm(weights, sums):
    """The norm in double precision: squares of single numbers neither overflow nor vanish."""
    sums[:] = 0.0
    for start in range(0, len(weights), CHUNK):
        part = weights[start : start + CHUNK]
        for i in range(len(part)):
            sums[i] += np.float64(part[i]) * np.float64(part[i])
    total = 0.0
    for i in range(CHUNK):
        total += sums[i]
    return np.sqrt(total)


@_compiled
def update(weights, gradient, key, first, shrink, rate, noise_std, radius):
    """Update weights (models, parameters), float32 as all scalars but the radius (may be inf)."""
    models, parameters = weights.shape
    pairs = (parameters + 1) // 2
    low, high = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    xi, sums = np.zeros((2, CHUNK), np.float32), np.empty(CHUNK)
    for model in range(models):
        for start in range(0, pairs, CHUNK):
            count = min(CHUNK, pairs - start)
            if noise_std > _ZERO:
                _words(key, _u((first + model) * pairs + start + 1), low, high, count)
                _box_muller(low, high, xi[0], xi[1], count)
            for side in range(2):
                begin = side * pairs + start
                end = min(begin + count, parameters)
                here, change = weights[model, begin:end], gradient[model, begin:end]
                _moved(here, change, xi[side], shrink, rate, noise_std)
        if radius < np.inf:
            norm = _norm(weights[model], sums)
            if norm > radius:
                scale = _f(radius / norm)
                for i in range(parameters):
                    weights[model, i] *= scale


@_compiled
def _exp(x):
    x = x if x > _LEAST else _LEAST
    shifted = x * _LOG2E + _INTEGER
    n = shifted - _INTEGER
    r = (x - n * _LN2) - n * _LN2_REST
    p = ((((r * _E7 + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2
    return (p * (r * r) + r + _ONE) * _as_float(_i((_as_int(shifted) + _BIAS) << _EXPONENT))


@_compiled
def softmax(scores):
    """Softmax of scores (models, outputs, rows) float32 over the outputs, in place."""
    models, outputs, rows = scores.shape
    top, total = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    for model in range(models):
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            end = start + count
            row = scores[model, 0, start:end]
            for i in range(count):
                top[i], total[i] = row[i], _ZERO
            for output in range(1, outputs):
                row = scores[model, output, start:end]
                for i in range(count):
                    top[i] = row[i] if row[i] > top[i] else top[i]
            for output in range(outputs):
                row = scores[model, output, start:end]
                for i in range(count):
                    row[i] = _exp(row[i] - top[i])
                    total[i] += row[i]
            for i in range(count):
                total[i] = _ONE / total[i]
            for output in range(outputs):
                row = scores[model, output, start:end]
                for i in range(count):
                    row[i] *= total[i]
