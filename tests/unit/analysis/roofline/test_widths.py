"""Names of kernels -> which compute on numbers of 64 bits, where no program tells."""

from __future__ import annotations

import numpy as np

from tests.builders import U, event, line, plane, trace
from tfprof_widgets.analysis import Analysis, of_other_width


def test_a_letter_that_ends_a_word_before_gemm_is_no_width() -> None:
    names = ("ampere_dgemm_128x64_tn", "void dgemv_kernel", "void stridedBatchedGemm_kernel", "FusedGemmKernel")
    kernels = [
        event(name, 10 * i, 5, tf_op="MatMul:MatMul", kernel_details="regs:40", correlation_id=U(i + 1))
        for i, name in enumerate(names)
    ]
    results = Analysis(trace(plane("/host:CPU"), plane("/device:GPU:0", line("Stream #1(Compute)", *kernels))))
    ran = results.occurrences
    _, is_wide = of_other_width(results.trace, ran, np.arange(len(ran.event)))
    found = {results.trace.strings[results.trace.name_id[e]]: wide for e, wide in zip(ran.event, is_wide, strict=True)}
    assert [bool(found[name]) for name in names] == [True, True, False, False]
