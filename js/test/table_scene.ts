/** The run of scene.ts with kernels, an XLA program and Keras layers -> a Pack for the tables of those. */

import type { HloMeta, KernelMeta, LayerMeta, TraceMeta } from "../src/data/meta";
import type { Pack, Table } from "../src/data/pack";
import { makeScene, type SceneOptions } from "./scene";

const MS = 1e9;

export interface TableSceneOptions extends SceneOptions {
  /** Without these parts, as on a CPU without XLA and Keras. */
  readonly isBare?: boolean;
  /** With rates of every second op; those of bytes are not known of any. */
  readonly hasRates?: boolean;
}

export function kernelMeta(name: string, more: Partial<KernelMeta> = {}): KernelMeta {
  return {
    ...{ name, op_name: "", registers_per_thread: 32, shared_memory_bytes: 0, block_dim: "128,1,1", grid_dim: "4,2,1" },
    ...{
      occupancy_pct: 50,
      op_type: "",
      tensor_core_eligible: false,
      could_use_tensor_core: false,
      uses_tensor_core: false,
      unit: "",
      family: 2,
      ...more,
    },
  };
}

export function hloMeta(name: string, more: Partial<HloMeta> = {}): HloMeta {
  return {
    ...{
      program_id: "7",
      module: "train_step",
      category: "loop fusion",
      name,
      expression: `%${name} = f32[] fusion()`,
    },
    ...{
      op_name: "",
      op_type: "",
      device: "Host",
      flops: 1e6,
      bytes_accessed: 2 ** 20,
      is_users: false,
      source: "",
      family: 3,
      ...more,
    },
  };
}

export function layerMeta(layer: string, more: Partial<LayerMeta> = {}): LayerMeta {
  return { layer, class_name: "", kind: "layer", allocated_bytes: null, peak_bytes: null, ...more };
}

export function f8(...values: number[]): Float64Array {
  return Float64Array.from(values);
}

export function i4(...values: number[]): Int32Array {
  return Int32Array.from(values);
}

/** Three kernels; the first is eligible for Tensor Cores and does not use them. Twelve executions, one a millisecond. */
function kernels(meta: TraceMeta, hostile: string): { list: KernelMeta[]; runs: Table; totals: Table } {
  const op = meta.names[meta.op_name[0]];
  const list = [
    kernelMeta(hostile || "volta_sgemm_128x64_nn", { op_name: op, could_use_tensor_core: true, unit: "32-bit vector" }),
    kernelMeta("volta_h884gemm", {
      ...{ op_name: op, could_use_tensor_core: true, uses_tensor_core: true },
      unit: "16-bit Tensor Core",
    }),
    kernelMeta("void cudnn::pooling_fw<float>(float*)", { op_name: "pool", occupancy_pct: 0 }),
  ];
  const n = 12;
  const run = Array.from({ length: n }, (_, i) => i);
  const columns = {
    kernel: Int32Array.from(run, (i) => i % 3),
    start_ps: Float64Array.from(run, (i) => (20 + i) * MS),
    duration_ps: Float64Array.from(run, (i) => (0.5 - 0.1 * (i % 3)) * MS),
  };
  const least = Float64Array.from([0.5, 0.4, 0.3], (ms) => ms * MS);
  const sums = { occurrences: f8(4, 4, 4), total_ps: least.map((ps) => 4 * ps), min_ps: least, max_ps: least };
  return { list, runs: { n, columns }, totals: { n: 3, columns: { kernel: i4(0, 1, 2), ...sums } } };
}

export function tableScene(options: TableSceneOptions = {}): Pack {
  const pack = makeScene(options);
  if (options.isBare || options.isEmpty) return pack;
  const meta = pack.meta as unknown as TraceMeta;
  const nOps = meta.op_name.length;
  const hostile = options.hostileName ?? "";
  const { list, runs, totals } = kernels(meta, hostile);
  // Every unit is an HLO op of its own, which stands for the op of the same number.
  const hlos = meta.op_name.map((name, op) =>
    hloMeta(op === 0 && hostile ? hostile : `fusion.${op}`, {
      ...{ op_name: op % 2 ? "" : meta.names[name], category: op % 3 ? "loop fusion" : "convolution" },
      family: op % 3 ? 3 : 2,
      program_id: op < 4 ? "7" : "8",
    }),
  );
  const layers = [
    layerMeta(hostile || "sequential/conv2d", {
      class_name: "Conv2D",
      allocated_bytes: 2 ** 20,
      peak_bytes: 2 ** 19,
      n_params: 896,
      step_bytes: 2 ** 14,
    }),
    layerMeta("adam", { kind: "optimizer" }),
    layerMeta("not in a layer", { kind: "other" }),
    layerMeta("allocated before the capture", { kind: "other", peak_bytes: 2 ** 30 }),
  ];
  const ops = Array.from({ length: nOps }, (_, op) => op);
  const tables: Record<string, Table> = {
    kernel_runs: runs,
    kernel_totals: totals,
    hlo_units: { n: nOps, columns: { hlo: Int32Array.from(ops) } },
    op_shares: {
      n: nOps,
      columns: { unit: Int32Array.from(ops), op: Int32Array.from(ops), ratio: new Float64Array(nOps).fill(1) },
    },
    op_places: {
      n: nOps,
      columns: {
        layer: Int32Array.from(ops, (op) => op % 3),
        phase: Uint8Array.from(ops, (op) => op % 4),
        ...{ line: new Int32Array(nOps).fill(-1), scope: new Int32Array(nOps).fill(-1) },
      },
    },
  };
  const rate = (value: number) => Float64Array.from(ops, (op) => (op % 2 ? Number.NaN : value));
  const rates = {
    flop_rate_gflops: rate(12.5),
    memory_bandwidth_gibps: rate(Number.NaN),
    tensor_core_ratio: rate(0.5),
  };
  if (options.hasRates) tables.op_rates = { n: nOps, columns: rates };
  const more = { kernels: list, hlo_ops: hlos, layers };
  return { meta: { ...pack.meta, ...more }, tables: { ...pack.tables, ...tables } };
}
