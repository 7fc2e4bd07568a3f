/** What Python says of a range or a host -> the same as views work it out, compared. */

import { numbers, type RangePs } from "../src/data/columns";
import { HostTables, hostMeta } from "../src/data/hosts";
import type { TraceMeta } from "../src/data/meta";
import { EMPTY_TABLE, type Table } from "../src/data/pack";
import type { TraceData } from "../src/data/store";
import { opColors } from "../src/model/colors";
import { layerRows, type OpRow, type OpTotals, opRows, PHASES } from "../src/model/ops";
import { hostOverview } from "../src/model/overview";
import { sourceHeat } from "../src/model/source";
import { hloRows, hloTotals, withPrograms } from "../src/views/hlo_table/hlo_table";
import { kernelRows } from "../src/views/kernel_table/kernel_table";
import { expectRows, expectSameRows, type Row } from "./vectors";

const SIDES = ["Host", "Device"] as const;
export const US = 1e6;
export const MS = 1e9;

export interface OfRange extends Readonly<Record<string, readonly Row[] | RangePs>> {
  readonly range_ps: RangePs;
}
export interface OfOverview {
  readonly step_time_ms: { readonly avg: number; readonly std: number; readonly min: number; readonly max: number };
  readonly breakdown: readonly Row[];
}
/** A trace, or one host of it. */
export interface Part {
  readonly meta: TraceMeta;
  readonly table: (name: string) => Table | undefined;
}

export const whole = (data: TraceData): Part => ({ meta: data.meta, table: (name) => data.table(name) });

export function ofHost(data: TraceData, host: string): Part {
  const tables = new HostTables(data.meta, (name) => data.table(name), host);
  return { meta: hostMeta(tables, hostOverview), table: (name) => tables.table(name) };
}

const columnOf = ({ table }: Part, name: string, column: string): ArrayLike<number> =>
  numbers(table(name) ?? EMPTY_TABLE, column);

const cost = (row: OpRow): Row => ({
  device: SIDES[row.device],
  type: row.type,
  occurrences: row.occurrences,
  total_time_us: row.totalPs / US,
  total_self_time_us: row.selfPs / US,
  self_time_ratio: row.selfRatio,
});

/** Of equal times either row may come first, so sums are looked at by name. A side that is never idle has no row for it here. */
export function expectOps(part: Part, totals: OpTotals, { ops, op_types }: OfRange) {
  const rows = (byType: boolean) =>
    ([1, 0] as const).flatMap((side) => opRows(part.meta, totals, { side, byType, withIdle: true }));
  const shown = (expected: unknown) =>
    (expected as readonly Row[]).filter((row) => row.type !== "IDLE" || row.total_time_us !== 0);
  const without = (expected: unknown) => shown(expected).map(({ cumulative_ratio: _, ...row }): Row => row);
  expectSameRows(
    rows(false).map((row) => ({ ...cost(row), name: row.name, eager: row.isEager })),
    without(ops),
    ["device", "name", "type"],
  );
  expectSameRows(
    rows(true).map((row) => ({ ...cost(row), n_ops: row.nOps })),
    without(op_types),
    ["device", "type"],
  );
  expectRows(
    rows(false).map((row) => ({ at: row.cumulativeRatio })),
    shown(ops).map((row) => ({ at: row.cumulative_ratio })),
  );
}

export function expectKernels(part: Part, { range_ps, kernels }: OfRange) {
  const found = kernelRows(part.meta.kernels ?? [], new Map(), part.table, range_ps);
  expectSameRows(
    found.map(({ name, occurrences, totalPs, minPs, maxPs }) => {
      return {
        ...{ name, occurrences, total_time_us: totalPs / US },
        ...{ min_time_us: minPs / US, max_time_us: maxPs / US },
      };
    }),
    kernels as readonly Row[],
    ["name"],
  );
}

export function expectHloOps(part: Part, { range_ps, hlo_ops }: OfRange) {
  const { meta, table } = part;
  const hlos = withPrograms(meta.hlo_ops ?? []);
  const rows = hloRows(hlos, hloTotals(meta, table, hlos.length, range_ps), "op");
  expectSameRows(
    rows.map(({ meta: hlo, occurrences, totalPs, selfPs, gflops, gibps }) => ({
      ...{ name: hlo.name, occurrences, total_time_us: totalPs / US, total_self_time_us: selfPs / US },
      ...{ flop_rate_gflops: gflops, memory_bandwidth_gibps: gibps },
    })),
    hlo_ops as readonly Row[],
    ["name"],
  );
}

/**
 * The rows of what ran. Python also has those of what did not run in the range, and counts it as ops of a row: the number of
 * ops is compared of the whole capture.
 */
function ran(rows: unknown, range: RangePs): Row[] {
  const kept = (rows as readonly Row[]).filter(({ occurrences }) => occurrences !== 0);
  return range === null ? kept : kept.map(({ n_ops: _, ...row }) => row);
}

export function expectLayers(part: Part, totals: OpTotals, { range_ps, layers }: OfRange) {
  const { meta } = part;
  const places = { layer: columnOf(part, "op_places", "layer"), phase: columnOf(part, "op_places", "phase") };
  const found = ([0, 1] as const).flatMap((side) =>
    layerRows(meta.layers ?? [], { ...places, device: meta.op_device }, totals, side, true).map((row) => ({
      ...{ device: SIDES[side], layer: row.layer, n_ops: row.nOps, occurrences: row.occurrences },
      ...Object.fromEntries(PHASES.map((phase, i) => [`${phase}_time_us`, row.phasePs[i] / US])),
      ...{ self_time_us: row.selfPs / US, self_time_ratio: row.ratio },
    })),
  );
  expectSameRows(ran(found, range_ps), ran(layers, range_ps), ["device", "layer"]);
}

export function expectSourceLines(part: Part, totals: OpTotals, { range_ps, source_lines }: OfRange) {
  const { meta } = part;
  const charges = {
    entries: meta.source_lines ?? [],
    line: columnOf(part, "op_places", "line"),
    phase: columnOf(part, "op_places", "line_phase"),
    categoryOf: opColors(meta).categoryOf,
  };
  const found = SIDES.flatMap((device, side) => {
    const heat = sourceHeat(charges, totals, (op) => meta.op_device[op] === side);
    const files = heat.files.flatMap(({ file, lines }) =>
      [...lines.values()].map((line) => ({
        ...{ file: meta.source_files?.[file].file ?? "", line: line.line, bucket: "", heat: line },
      })),
    );
    const buckets = heat.buckets.map((bucket) => ({ file: "", line: 0, bucket: bucket.bucket, heat: bucket }));
    return [...files, ...buckets].map(({ heat: own, ...place }) => ({
      ...{ device, ...place, n_ops: own.ops.length, occurrences: own.occurrences },
      ...{ forward_time_us: own.forwardPs / US, backward_time_us: own.backwardPs / US },
      ...{ other_time_us: own.otherPs / US, self_time_us: own.selfPs / US, self_time_ratio: own.selfPs / heat.wholePs },
    }));
  });
  expectSameRows(ran(found, range_ps), ran(source_lines, range_ps), ["device", "file", "line", "bucket"]);
}

export function expectOverview(part: Part, { step_time_ms, breakdown }: OfOverview) {
  const { meta } = part;
  const { step_time, breakdown: parts } = meta.overview;
  const { avg, std, min, max } = step_time ?? { avg: 0, std: 0, min: 0, max: 0 };
  expectRows([{ avg, std, min, max }], [step_time_ms]);
  expectSameRows(parts as unknown as readonly Row[], breakdown, ["category"]);
}
