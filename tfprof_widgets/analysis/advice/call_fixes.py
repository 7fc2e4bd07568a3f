"""Fixes that several rules propose: a larger batch, several steps in one call, and XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fix import Fix
from .user_code import is_of_model, only_call, rewritten

if TYPE_CHECKING:
    from .run import Run

FIXED = 0.5
"""From this share of the step time on, what is the same for any batch outweighs what grows with it: twice the batch is then
worth a third more samples a second. Well-fed networks of a few hundred kFLOP a step had 0 to 0.1, batches of two 0.7 to 0.98."""
QUICK = 0.1
"""A busy machine makes steps longer, the ops in them hardly: they wait to run. The quickest tenth of the steps tells what is
the program's; of well-fed networks on such a machine the usual step seemed to be fixed by half."""
LARGER_BATCH = (
    "Try a larger batch, such as 8 times as many samples: an epoch then has fewer, larger updates, which changes "
    "the training (the learning rate may have to follow)."
)


def several_in_one_call(run: Run) -> Fix | None:
    """One call of Python for many steps; None where a call takes several already."""
    if run.takes_several:
        return None
    if not run.is_keras_loop:
        return Fix(
            "Run several steps in one call: a tf.function with a loop over tf.range(32), which trains with the next "
            "batch of an iterator each time."
        )
    words = (
        "Run 32 steps in one call: steps_per_execution=32, an argument of compile. Callbacks then see each 32nd batch."
    )
    return _compiled_with(run, words, "steps_per_execution", "32")


def fewer_calls(run: Run) -> Fix:
    """Less of what is the same for any batch: several steps in one call, or larger ones."""
    several = several_in_one_call(run)
    return several.also(LARGER_BATCH) if several else Fix(LARGER_BATCH)


def compiled(run: Run, into: str = "fewer, larger kernels") -> Fix:
    """The whole step as one program of XLA."""
    words = f"Compile the whole step, with the optimizer, into {into}: jit_compile=True, an argument of "
    if not run.is_keras_loop:
        return Fix(f"{words}the tf.function around it.")
    return _compiled_with(run, f"{words}compile.", "jit_compile", "True")


def _compiled_with(run: Run, words: str, name: str, value: str) -> Fix:
    call = only_call(run.results.source_map, "compile", is_of_model)
    return rewritten(words, call, call.with_keyword(name, value) if call else "")
