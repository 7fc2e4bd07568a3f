"""Programs of JAX and PyTorch/XLA that trained while their own profilers recorded them -> a log directory and `clock.json`.

    python tests/captures/other_frameworks.py NAME DIRECTORY

It runs where that framework is installed, without this package, and measures by a clock of its own what each iteration took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

N_STEPS = 12
Iterate = Callable[[int], None]


def main(name: str, directory: Path) -> None:
    """Make one of the captures."""
    kinds: dict[str, Callable[[Path], None]] = {
        "jax_marked": lambda path: jax_loop(path, sizes=[256, 512, 512, 10], batch_size=128, is_marked=True),
        "jax_h100_unmarked": lambda path: jax_loop(path, sizes=[512, 2048, 2048, 10], batch_size=2048, is_marked=False),
        "torch_xla_unmarked": torch_loop,
    }
    kinds[name](directory)


def clocked(directory: Path, versions: dict[str, str], iterate: Iterate, finish: Callable[[], None]) -> None:
    """Run the iterations, and note how long each took and all of them together, milliseconds."""
    wall_ms, begun = [], time.perf_counter()
    for i in range(N_STEPS):
        start = time.perf_counter()
        iterate(i)
        wall_ms.append((time.perf_counter() - start) * 1e3)
    finish()
    noted = {"versions": versions, "wall_ms": wall_ms, "total_ms": (time.perf_counter() - begun) * 1e3}
    (directory / "clock.json").write_text(json.dumps(noted))


def jax_loop(directory: Path, *, sizes: list[int], batch_size: int, is_marked: bool) -> None:
    """A loop over a compiled step that never waits for its results, marked by `StepTraceAnnotation` or not."""
    import contextlib

    import jax
    import jax.numpy as jnp
    import numpy as np

    def forward(params: Any, x: Any) -> Any:
        for i, (weights, bias) in enumerate(params):
            with jax.named_scope(f"dense_{i}"):
                x = x @ weights + bias
                if i < len(params) - 1:
                    x = jax.nn.relu(x)
        return x

    def loss_fn(params: Any, x: Any, y: Any) -> Any:
        with jax.named_scope("loss"):
            return -jnp.mean(jax.nn.log_softmax(forward(params, x))[jnp.arange(len(y)), y])

    @jax.jit
    def train_step(params: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_fn)(params, x, y)
        return jax.tree.map(lambda a, b: a - 0.1 * b, params, gradients), loss

    keys = jax.random.split(jax.random.key(0), len(sizes))
    pairs = zip(keys, sizes[:-1], sizes[1:], strict=False)
    params = [(jax.random.normal(key, (m, n)) / np.sqrt(m), jnp.zeros(n)) for key, m, n in pairs]
    rng = np.random.default_rng(0)

    def batch() -> Any:
        return rng.random((batch_size, sizes[0]), np.float32), rng.integers(0, sizes[-1], batch_size)

    def iterate(i: int) -> None:
        nonlocal params, loss
        mark = jax.profiler.StepTraceAnnotation("train", step_num=i) if is_marked else contextlib.nullcontext()
        with mark:
            params, loss = train_step(params, *batch())

    for _ in range(3):
        params, loss = train_step(params, *batch())
    loss.block_until_ready()
    jax.profiler.start_trace(str(directory))
    clocked(directory, {"jax": jax.__version__}, iterate, lambda: loss.block_until_ready())
    jax.profiler.stop_trace()


def torch_loop(directory: Path) -> None:
    """A loop of PyTorch/XLA that reads the loss of each step."""
    import torch
    import torch_xla
    import torch_xla.debug.profiler as profiler

    torch.manual_seed(0)
    device = torch_xla.device()
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)
    optimizer, loss_of = torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.CrossEntropyLoss()

    def iterate(_: int) -> None:
        x, y = torch.rand(128, 256).to(device), torch.randint(0, 10, (128,)).to(device)
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        loss.item()

    for i in range(4):
        iterate(i)
    profiler.start_trace(str(directory))
    versions = {"torch": torch.__version__, "torch_xla": torch_xla.__version__}
    clocked(directory, versions, iterate, lambda: None)
    profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
