/** The categories of step time and the families of slices, in the order of their ids in a Pack, and what a screen calls them. */

/** Step-time categories in the order of their ids. */
export const CATEGORIES = [
  "input",
  "copy_to_device",
  "host_compute",
  "dispatch",
  "kernel_launch",
  "sync",
  "device_compute",
  "device_to_device",
  "device_collectives",
  "output",
  "compile",
  "checkpoint",
  "other",
] as const;

export const CATEGORY_LABELS: Readonly<Record<string, string>> = {
  input: "Input",
  copy_to_device: "Copy to device",
  host_compute: "Host compute",
  dispatch: "Python, dispatch",
  kernel_launch: "Kernel launch",
  sync: "Synchronising",
  device_compute: "Device compute",
  device_to_device: "Device to device",
  device_collectives: "Communication",
  output: "Output",
  compile: "Compilation",
  checkpoint: "Checkpoint",
  other: "Other",
};

/** Slice families in the order of their ids in the `names` table. */
export const FAMILIES = ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"] as const;

export const FAMILY_LABELS: Readonly<Record<string, string>> = {
  tfdata: "tf.data iterators",
  image: "decode, image ops",
  conv: "convolution, matmul",
  elem: "element-wise",
  reduce: "reduction, pooling, loss",
  optim: "optimizer",
  move: "copies, casts, transposes",
  runtime: "executor, runtime",
  python: "Python",
};
