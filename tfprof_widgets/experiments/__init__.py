"""experiments: parts of a training program switched off, replaced or resized -> how much faster it would be, measured.

Examples:
    >>> result = tfprof.experiments.input_or_model(model, dataset, n_steps=5, n_repeats=1)
    >>> what_limits = result.sentence

Every experiment runs a few steps for real and puts everything back bit for bit, also after Ctrl-C and after an error, which is
raised again: weights, optimizer, metrics, random state (Keras, TensorFlow, NumPy, Python), compiled functions, history,
`stop_training`, attributes of the model, of its callbacks and of your own objects that they hold. What was not built before
is not built afterwards. What cannot be put back: what callbacks and data sets of your own write to files or send away, and
the position of a generator that others read too.

Variants are measured in turns, every other round backwards, and a run begins on a new iterator with the model's own weights.
Tracing and the first steps do not count. A data set that is too short is repeated; the result says so.

Arguments that all have:
    n_steps: of one run, at most.
    max_seconds: of the measured steps of one variant, all its runs together; warm-up and tracing come on top. A step that has
        begun ends, and one step is always measured.
    n_repeats: runs of each variant; an interval needs two, and three make it useful.

A data set is a `tf.data.Dataset`, a `keras.utils.PyDataset`, a tuple `(x, y)` or `(x, y, sample_weight)` of arrays, or a
function without arguments that returns one.
"""

from __future__ import annotations

from .changes import ablate, batch_sizes, without_callbacks
from .inputs import input_only, input_or_model, synthetic
from .result import ExperimentResult

__all__ = [
    "ExperimentResult",
    "ablate",
    "batch_sizes",
    "input_only",
    "input_or_model",
    "synthetic",
    "without_callbacks",
]
