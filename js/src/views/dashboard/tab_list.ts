/** The views below the timeline by what they are about, and whether a run has anything for each. */

import type { TraceMeta } from "../../model/wire/meta";

export interface TabView {
  readonly trait: string;
  /** How many things the view lists. */
  readonly count?: (meta: TraceMeta) => number;
  /** Whether there is anything for it to show; always when left out. */
  readonly isThere?: (meta: TraceMeta) => boolean;
}

export interface Tab {
  /** Of several views; a single one gives its own. */
  readonly title?: (meta: TraceMeta) => string;
  readonly views: readonly TabView[];
}

type List = "kernels" | "hlo_ops" | "pipelines";

/** Rows of a list, here or still to come. */
function rowsOf(meta: TraceMeta, name: List): number {
  return meta.sections?.[name]?.n_rows ?? meta[name]?.length ?? 0;
}

const has = (name: List) => (meta: TraceMeta) => rowsOf(meta, name) > 0;

function hasInput(meta: TraceMeta): boolean {
  return has("pipelines")(meta) || (meta.input?.ops.length ?? 0) > 0;
}

export function hasMemory(meta: TraceMeta): boolean {
  return Boolean(meta.memory_failure) || (meta.n_allocators ?? meta.allocators?.length ?? 0) > 0;
}

/** XLA compiles for CPUs, too. */
function deviceTitle(meta: TraceMeta): string {
  const names = meta.planes.filter(({ kind }) => kind === "device").map(({ name }) => name);
  return names.length === 0 ? "XLA" : names.every((name) => name.includes("TPU")) ? "TPU" : "GPU";
}

function countHosts(meta: TraceMeta): number {
  return Math.max(meta.hosts?.length ?? 0, meta.worker_hosts?.length ?? 0);
}

export const TABS: readonly Tab[] = [
  { views: [{ trait: "op_table", count: (meta) => meta.n_ops ?? meta.op_name.length }] },
  { title: () => "Code", views: [{ trait: "source_view" }, { trait: "tree_view" }] },
  { views: [{ trait: "layer_table" }] },
  { views: [{ trait: "memory_timeline", isThere: hasMemory }] },
  { views: [{ trait: "input_graph", isThere: hasInput }] },
  {
    title: deviceTitle,
    views: [
      { trait: "kernel_table", count: (meta) => rowsOf(meta, "kernels"), isThere: has("kernels") },
      { trait: "hlo_table", count: (meta) => rowsOf(meta, "hlo_ops"), isThere: has("hlo_ops") },
      { trait: "copy_table", isThere: (meta) => meta.sections?.copies !== undefined || meta.copies !== undefined },
      {
        trait: "roofline_chart",
        isThere: (meta) => meta.sections?.roofline !== undefined || meta.roofline !== undefined,
      },
    ],
  },
  { views: [{ trait: "worker_chart", count: countHosts, isThere: (meta) => countHosts(meta) > 1 }] },
];
