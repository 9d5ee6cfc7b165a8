"""What advances a block of models by one step, for each kind of machine and model.

    weights <- Proj( (1 - eta l2) weights - eta gradient + noise_std xi )

is one formula, and `plain.py` computes it anywhere. There are several because a step in separate
passes reads and writes every weight several times, which takes longer than the products: each of
the others does gradient or update in one pass over memory, in the language of its machine.

    which                 language        runs when
    plain.py              torch           whenever no other serves; the reference in tests
    cpu_kernels.py        numba           float32 on a CPU, at least 2^15 numbers, numba installed
    fused.py              -               bfloat16 on CUDA, softmax and logistic heads, with Triton
        kernels.py        Triton          its residuals and its update; the noise of float32 on CUDA
        hopper.py         Gluon           its residuals, on a Hopper GPU, for large ensembles
    stacked.py            torch           LSTM classifiers: the rows of all orders in one gradient
        lstm_kernels.py   Triton          their layers, in bfloat16 with Triton

`chain.py` chooses a stepper by the problem and its precision (`Plain`, `Fused` or `Stacked`, each
with `step` and `snapshot`); within a step `serves` of each module says whether it takes a tensor.
All of them draw the same xi, bit for bit (`core/counters.py`), so that a model does not depend on
which one ran but for the rounding of products. `cpu_loops.py` holds the loops of `cpu_kernels.py`,
apart because it cannot be imported without numba; `head_gradients.py` the gradient of linear heads
that `plain.py` takes.
"""
