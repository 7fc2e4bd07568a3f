/** A training run out of nothing -> its events, steps, sessions and allocations, as plain rows. */
import { CATEGORIES } from "../src/data/meta";

export const MS = 1e9;

export interface RunOptions {
  /** Steps of about 21 ms. */
  readonly nSteps?: number;
  readonly hasDevice?: boolean;
  /** Images per batch: each gives three events a step. */
  readonly batch?: number;
  /** Sessions of five steps each with a pause of a second between them. */
  readonly isWindowed?: boolean;
  /** A name that must stay text. */
  readonly evilName?: string;
}

export interface RawEvent {
  line: number;
  start: number;
  duration: number;
  name: string;
  op: number;
  step: number;
  stats: [string, number, bigint | string][];
}

/** Strings to ids, each once. */
class Names {
  readonly list: string[] = [];
  readonly #ids = new Map<string, number>();
  id(name: string): number {
    let id = this.#ids.get(name);
    if (id === undefined) {
      id = this.list.push(name) - 1;
      this.#ids.set(name, id);
    }
    return id;
  }
}

const LAYERS: readonly [op: string, type: string, ms: number, family: string][] = [
  ["sequential/conv2d/convolution", "Conv2D", 0.52, "conv"],
  ["sequential/conv2d/BiasAdd", "BiasAdd", 0.07, "elem"],
  ["sequential/conv2d/Relu", "Relu", 0.08, "elem"],
  ["sequential/conv2d_1/convolution", "Conv2D", 0.71, "conv"],
  ["sequential/conv2d_1/Relu", "Relu", 0.08, "elem"],
  ["sequential/max_pooling2d/MaxPool2d", "MaxPool", 0.1, "reduce"],
  ["sequential/dense/MatMul", "MatMul", 0.24, "conv"],
  ["compile_loss/SparseSoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits", 0.03, "reduce"],
  ["gradient_tape/sequential/dense/MatMul/MatMul", "MatMul", 0.38, "conv"],
  ["gradient_tape/sequential/conv2d_1/ReluGrad", "ReluGrad", 0.1, "elem"],
  ["gradient_tape/sequential/conv2d_1/convolution/Conv2DBackpropFilter", "Conv2DBackpropFilter", 0.66, "conv"],
  ["gradient_tape/sequential/conv2d_1/convolution/Conv2DBackpropInput", "Conv2DBackpropInput", 0.94, "conv"],
  ["gradient_tape/sequential/conv2d/convolution/Conv2DBackpropFilter", "Conv2DBackpropFilter", 0.47, "conv"],
  ...Array.from({ length: 12 }, (_, i): [string, string, number, string] => [
    `adam/AssignSubVariableOp_${i}`,
    "AssignSubVariableOp",
    0.084,
    "optim",
  ]),
];
const IMAGE_OPS: readonly [op: string, type: string][] = [
  ["DecodeJpeg", "DecodeJpeg"],
  ["resize/ResizeBilinear", "ResizeBilinear"],
];
const ROOT = "Iterator::Root";
const BATCH = "Iterator::Root::BatchV2";
const MAP = "Iterator::Root::BatchV2::Zip[0]::Map";
const PYTHON = 0;
const DATA = 1;
const COMPUTE = 2;
export const N_HOST_LINES = 16;
const STREAM = 16;
export const TF_OPS = 17;
const COPY = 18;

/** Deterministic noise in [0, 1). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
}

/** Builds the run event by event. */
export class TrainingRun {
  readonly names = new Names();
  readonly events: RawEvent[] = [];
  readonly ops: { name: string; type: string; device: number }[] = [];
  readonly steps: { start: number; duration: number; pieces: [category: number, ms: number][] }[] = [];
  readonly sessions: { start_ps: number; stop_ps: number; host: string }[] = [];
  readonly memory: { time: number; bytes: number; op: string; step: number }[] = [];
  readonly families = new Map<string, string>();
  readonly #opIds = new Map<string, number>();
  readonly #random = random(11);
  /** Correlation ids start anew in each session of five steps. */
  #nLaunches = 0;

  constructor(readonly options: Required<RunOptions>) {
    let at = 2;
    for (let i = 0; i < options.nSteps; i++) {
      if (options.isWindowed && i > 0 && i % 5 === 0) at += 1000;
      at = this.#step(i, at);
    }
    for (let line = 4; line < N_HOST_LINES; line++) {
      this.#event(line, at / 3 + line, 0.002, "ThreadpoolListener::Record", "runtime", -1);
    }
  }

  #op(name: string, type: string, device: number): number {
    const key = `${device}|${name}`;
    let id = this.#opIds.get(key);
    if (id === undefined) {
      id = this.ops.push({ name, type, device }) - 1;
      this.#opIds.set(key, id);
    }
    return id;
  }

  #event(
    line: number,
    atMs: number,
    ms: number,
    name: string,
    family: string,
    step: number,
    op = -1,
    correlation = -1,
  ) {
    this.families.set(name, family);
    const stats: RawEvent["stats"] = [
      ["group_id", 4, BigInt(step)],
      ["_c", 3, 0xffff_ffff_ffff_fff0n + BigInt(this.events.length % 8)],
    ];
    if (op >= 0) stats.push(["tf_op", 5, name]);
    if (correlation >= 0) stats.push(["correlation_id", 3, BigInt(correlation)]);
    this.events.push({ line, start: atMs * MS, duration: ms * MS, name, op, step, stats });
  }

  #step(i: number, at: number): number {
    const { hasDevice } = this.options;
    const compile = i === 0 ? 190.7 : 0;
    const input = 13.1 + (this.#random() - 0.5) * 1.2;
    const compute = hasDevice ? 6.1 : 7.2;
    const total = compile + input + compute + 2.1;
    this.#event(PYTHON, at + 0.1, total - 0.3, "train", "python", i);
    const call = "EagerLocalExecute: __inference_multi_step_on_iterator_1686";
    this.#event(PYTHON, at + 0.25, total - 0.62, call, "runtime", i);
    if (compile > 0) this.#event(COMPUTE, at + 0.3, compile, "XlaCompile: multi_step_on_iterator", "runtime", i);
    const batchAt = at + compile + 0.15;
    this.#input(i, batchAt, input);
    const launchAt = batchAt + input + 0.1;
    if (hasDevice) this.#device(i, launchAt);
    else this.#cpu(i, launchAt);
    this.#memory(i, launchAt + 0.55);
    const kernel = hasDevice ? 0.9 : 0;
    const pieces: [number, number][] = [
      [CATEGORIES.indexOf("compile"), compile],
      [CATEGORIES.indexOf("input"), input],
      [CATEGORIES.indexOf("host_compute"), hasDevice ? 0.6 : compute],
      [CATEGORIES.indexOf("kernel_launch"), kernel],
      [CATEGORIES.indexOf("device_compute"), hasDevice ? compute : 0],
      [CATEGORIES.indexOf("output"), 0.1],
    ];
    pieces.push([CATEGORIES.indexOf("other"), total - pieces.reduce((sum, [, ms]) => sum + ms, 0)]);
    this.steps.push({ start: at * MS, duration: total * MS, pieces });
    this.#session(i, at, total);
    return at + total;
  }

  #session(i: number, at: number, total: number) {
    const isNew = i === 0 || (this.options.isWindowed && i % 5 === 0);
    if (isNew) this.sessions.push({ start_ps: (at - 2) * MS, stop_ps: 0, host: "localhost" });
    this.sessions[this.sessions.length - 1].stop_ps = (at + total + 2) * MS;
  }

  #input(i: number, at: number, input: number) {
    const { batch } = this.options;
    this.#event(DATA, at, input, "IteratorGetNextOp::DoCompute", "runtime", i);
    this.#event(DATA, at + 0.02, input - 0.04, ROOT, "tfdata", i, this.#op(ROOT, "Root", 0));
    this.#event(DATA, at + 0.04, input - 0.08, BATCH, "tfdata", i, this.#op(BATCH, "BatchV2", 0));
    const each = (input - 0.2) / batch;
    for (let k = 0; k < batch; k++) {
      const start = at + 0.1 + k * each;
      const ms = each * (0.75 + 0.2 * this.#random());
      this.#event(DATA, start, ms, MAP, "tfdata", i, this.#op(MAP, "Map", 0));
      let from = start + ms * 0.05;
      for (const [op, type] of IMAGE_OPS) {
        const share = type === "DecodeJpeg" ? 0.68 : 0.2;
        this.#event(DATA, from, ms * share, `${op}:${type}`, "image", i, this.#op(op, type, 0));
        from += ms * (share + 0.02);
      }
    }
  }

  #device(i: number, at: number) {
    this.#event(COMPUTE, at, 1.5, "ExecutorState::Process", "runtime", i);
    this.#event(COPY, at + 0.02, 0.42, "MemcpyH2D 18.4 MiB", "move", i);
    let launch = at + 0.02;
    let kernel = at + 0.55;
    const scale = 6.1 / LAYERS.reduce((sum, [, , ms]) => sum + ms, 0);
    for (const [op, type, ms, family] of LAYERS) {
      const name = `${op}:${type}`;
      if (launch === at + 0.02 && this.options.isWindowed && i % 5 === 0) this.#nLaunches = 0;
      const correlation = this.#nLaunches++;
      this.#event(COMPUTE, launch, 0.048, name, family, i, this.#op(op, type, 0), correlation);
      this.#event(TF_OPS, kernel, ms * scale, name, family, i, this.#op(op, type, 1));
      const code = type === "MatMul" ? "turing_sgemm_128x64_nn" : `cudnn::${type.toLowerCase()}_kernel<float, 0, 6, 7>`;
      this.#event(STREAM, kernel, ms * scale * 0.965, code, family, i, this.#op(op, type, 1), correlation);
      launch += 0.054;
      kernel += ms * scale;
    }
    this.#event(COPY, kernel + 0.1, 0.07, "MemcpyD2H 8 B", "move", i);
  }

  #cpu(i: number, at: number) {
    const scale = 7.2 / LAYERS.reduce((sum, [, , ms]) => sum + ms, 0);
    let from = at;
    this.#event(COMPUTE, at - 0.01, 7.3, "ExecutorState::Process", "runtime", i);
    this.#event(COMPUTE + 1, at + 0.4, 6.2, "ExecutorState::Process", "runtime", i);
    for (const [k, [op, type, ms, family]] of LAYERS.entries()) {
      const name = k === 7 && this.options.evilName ? this.options.evilName : `${op}:${type}`;
      const line = k % 4 === 3 ? COMPUTE + 1 : COMPUTE;
      this.#event(
        line,
        Math.max(from, at + (line === COMPUTE ? 0 : 0.45)),
        ms * scale * 0.9,
        name,
        family,
        i,
        this.#op(op, type, 0),
      );
      from += ms * scale;
    }
  }

  #memory(i: number, at: number) {
    const mib = [420, 800, 1170, 1550, 1650, 1680, 2760, 1700, 1330, 1500, 900, 440];
    for (const [k, size] of mib.entries()) {
      this.memory.push({ time: (at + k * 0.5) * MS, bytes: size * 2 ** 20, op: LAYERS[k][0], step: i });
    }
  }
}
