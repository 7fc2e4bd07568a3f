/** The categories of step time and the families of slices, in the order of their ids in a Pack, and what a screen calls them. */

/** Step-time categories in the order of their ids. */
export const CATEGORIES = [
  "input",
  "host_compute",
  "kernel_launch",
  "device_compute",
  "device_to_device",
  "device_collectives",
  "output",
  "compile",
  "other",
] as const;

export const CATEGORY_LABELS: Readonly<Record<string, string>> = {
  input: "Input",
  host_compute: "Host compute",
  kernel_launch: "Kernel launch",
  device_compute: "Device compute",
  device_to_device: "Device to device",
  device_collectives: "Communication",
  output: "Output",
  compile: "Compilation",
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
  move: "copies, transposes",
  runtime: "executor, runtime",
  python: "Python",
};
