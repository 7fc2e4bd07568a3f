/** The framework of a trace -> what is typed in a program of it. */

import type { TraceMeta } from "../wire/meta";

export type Framework = "TensorFlow" | "JAX" | "PyTorch/XLA";

type Words = Readonly<Record<Framework, string>>;

export function frameworkOf({ overview }: TraceMeta): Framework {
  const told = overview?.environment?.framework;
  return told === "JAX" || told === "PyTorch/XLA" ? told : "TensorFlow";
}

/** That what computed the steps is not in the capture, and what records it; "" where it is. */
export function unrecordedWords({ overview }: TraceMeta): string {
  return overview?.environment?.unrecorded ? `${overview.verdict ?? ""} ${overview.verdict_detail ?? ""}`.trim() : "";
}

export const CAPTURE_CODE: Words = {
  TensorFlow: "%%tfprofile\nmodel.fit(dataset, epochs=1)",
  JAX: 'jax.profiler.start_trace("logs")\n# some steps\njax.profiler.stop_trace()',
  "PyTorch/XLA":
    'import torch_xla.debug.profiler as profiler\n\nprofiler.start_trace("logs")\n# some steps\nprofiler.stop_trace()',
};

/** How a reader marks the steps of a loop of their own. */
export const MARK_STEPS_CODE: Words = {
  TensorFlow: "for batch in tfprof.trace_steps(dataset):\n    train_step(batch)",
  JAX: 'with jax.profiler.StepTraceAnnotation("train", step_num=i):\n    train_step(batch)',
  "PyTorch/XLA": 'with torch_xla.debug.profiler.StepTrace("train", step_num=i):\n    train_step(batch)',
};

/** Says which devices are found. */
export const DEVICES_CODE: Words = {
  TensorFlow: 'tf.config.list_physical_devices("GPU")',
  JAX: "jax.devices()",
  "PyTorch/XLA": "torch_xla.devices()",
};

/** Has XLA compile a training step; PyTorch/XLA runs nothing else. */
export const COMPILE_CODE: Words = {
  TensorFlow: 'model.compile(optimizer="adam", loss=loss, jit_compile=True)',
  JAX: "train_step = jax.jit(train_step)",
  "PyTorch/XLA": "",
};
