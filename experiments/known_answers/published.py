"""The discriminator as published, on one known answer: equal laws in 9,216 dimensions.

    python -m experiments.known_answers.published FILE.json      an H200, some minutes

float32 throughout, all 30,000 samples of a side for training, 30,000 epochs of five batches each;
read on those samples, as the paper does, and on as many fresh ones. Paper: [app:disc_details]. The
main table takes bfloat16, three quarters of the samples and 30,000 steps instead.
"""

import json
import sys
import time
from pathlib import Path

import torch

from expunge.divergence.critics import Critics, Discriminator
from expunge.divergence.variational import convex_conjugate

N, D, EPOCHS, LIMIT = 30_000, 9_216, 30_000, 470.0


def main(path: Path) -> None:
    """Train for the published number of epochs, or as many as the time allows."""
    torch.backends.cuda.matmul.allow_tf32 = False
    generator = torch.Generator("cuda").manual_seed(0)
    train, fresh = (
        [torch.randn(N, D, device="cuda", generator=generator) for _ in range(2)] for _ in range(2)
    )

    def timed(steps: int) -> tuple[Critics, float]:
        critics = Critics(D, Discriminator(steps=steps), generator)
        start = time.perf_counter()
        critics.train(*train, order=2.0, generator=generator)
        torch.cuda.synchronize()
        return critics, time.perf_counter() - start

    timed(50)
    rate = timed(500)[1] / 500
    steps = min(5 * EPOCHS, int(LIMIT / rate))
    critics, seconds = timed(steps)
    found = {"steps": steps, "epochs": steps / 5, "seconds": seconds, "truth": 0.0}
    for name, (p, q) in (("trained", train), ("fresh", fresh)):
        found[name] = convex_conjugate(critics(p), critics(q), 2.0).tolist()
    found |= {"width": 64, "device": torch.cuda.get_device_name(), "torch": torch.__version__}
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
