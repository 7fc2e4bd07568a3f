/** HLO ops in the linked time range: what XLA's programs are made of and what each part costs. */

import { columns, eachInside, groupBy, numbers, type RangePs, type Scope, STEADY } from "../../data/columns";
import { FAMILIES, FAMILY_LABELS, type HloMeta, type TraceMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import { dividedTotals, N_SHARES, type OpTotals, sumByEntry, unitTotals } from "../../model/ops";
import { COMPILE_CODE, type Framework, frameworkOf } from "../../model/overview";
import { perStep, stepsOfScope } from "../../model/range";
import { type Cell, type CsvColumns, formatPercent, plural } from "../../model/text";
import { type Choice, emptyState, noOps, segmented } from "../../ui/dom";
import { ShareBar, type ShareLook, shareSegments } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import {
  averageColumn,
  countColumn,
  LinkedTable,
  nameColumn,
  numberColumn,
  rankColumn,
  selfColumn,
  TIMES_CSV,
  textColumn,
  timeTitles,
  titled,
  totalColumn,
} from "../../ui/table";
import type { TraceBuilder, TraceView } from "../../ui/view";

type Grouping = "op" | "category" | "program";

interface HloOp extends HloMeta {
  readonly program: string;
}

interface HloRow extends Readonly<Record<"rank" | "occurrences" | "totalPs" | "selfPs" | "gibps", number>> {
  readonly key: string;
  /** Rows of the meta object's `hlo_ops`: one, or those of a group. */
  readonly hlos: readonly number[];
  readonly meta: HloOp;
  readonly ratio: number;
  /** Over total time; NaN where nothing is known of the op. */
  readonly gflops: number;
}

type Tables = (name: string) => Table | undefined;

interface Totals extends Pick<OpTotals, "totalPs" | "selfPs" | "occurrences"> {
  /** Occurrences; of one that the range cuts the part within it, since as much of its work counts. */
  readonly done: Float64Array;
}

/** Totals per row of `hlo_ops` from those of its units; a step, where the scope is of whole steps. */
export function hloTotals(meta: TraceMeta, tables: Tables, nHlos: number, scope: Scope): Totals {
  const units = tables("hlo_units") ?? EMPTY_TABLE;
  const row = numbers(units, "hlo");
  const totals = unitTotals({ ...meta, n_units: units.n }, tables, scope);
  const isWhole = scope === null || scope === STEADY;
  const done = isWhole ? totals.occurrences : doneParts(tables("occurrences") ?? EMPTY_TABLE, units.n, scope);
  const sums = sumByEntry(row, totals, nHlos);
  const isDone = new Float64Array(nHlos);
  for (let unit = 0; unit < units.n; unit++) if (row[unit] >= 0) isDone[row[unit]] += done[unit];
  const nSteps = stepsOfScope(tables("steps"), scope) ?? 1;
  return { ...dividedTotals(sums, nSteps), done: isDone.map((n) => n / nSteps) };
}

/** Occurrences per unit, of each the part within the range. */
function doneParts(occurrences: Table, nUnits: number, range: RangePs): Float64Array {
  const done = new Float64Array(nUnits);
  const op = numbers(occurrences, "op");
  eachInside(occurrences, range, (i, _, part) => {
    done[op[i]] += part;
  });
  return done;
}

export function hloRows(hlos: readonly HloOp[], totals: Totals, grouping: Grouping | "family"): HloRow[] {
  const ran = hlos.map((_, i) => i).filter((i) => totals.occurrences[i] !== 0);
  const groups = groupBy(ran, (i) => (grouping === "op" ? `op:${i}` : String(hlos[i][grouping])));
  const sum = (rows: readonly number[], value: (i: number) => number) => rows.reduce((total, i) => total + value(i), 0);
  const drafts = [...groups].map(([key, rows]) => {
    const totalPs = sum(rows, (i) => totals.totalPs[i]);
    // What of a group is unknown would make its rate too low: it has none.
    const work = (of: "flops" | "bytes_accessed") => sum(rows, (i) => (hlos[i][of] ?? Number.NaN) * totals.done[i]);
    return {
      ...{ key, hlos: rows, meta: hlos[rows[0]], totalPs },
      occurrences: sum(rows, (i) => totals.occurrences[i]),
      selfPs: sum(rows, (i) => totals.selfPs[i]),
      gflops: totalPs > 0 ? (work("flops") / totalPs) * 1e3 : Number.NaN,
      gibps: totalPs > 0 ? (work("bytes_accessed") / totalPs) * (1e12 / 2 ** 30) : Number.NaN,
    };
  });
  drafts.sort((a, b) => b.selfPs - a.selfPs || a.hlos[0] - b.hlos[0]);
  const whole = drafts.reduce((total, row) => total + row.selfPs, 0);
  return drafts.map((row, i) => ({ ...row, rank: i + 1, ratio: whole > 0 ? row.selfPs / whole : 0 }));
}

/** Each HLO op with the name of its program: its module, with the id where several programs have modules of that name. */
export function withPrograms(hlos: readonly HloMeta[]): HloOp[] {
  const ids = new Map<string, Set<string>>();
  for (const { module, program_id } of hlos) ids.set(module, (ids.get(module) ?? new Set()).add(program_id));
  return hlos.map((hlo) => {
    const name = hlo.module || "program";
    return { ...hlo, program: (ids.get(hlo.module)?.size ?? 0) < 2 ? name : `${name} (${hlo.program_id})` };
  });
}

/** A framework op that an HLO op stands for, and in which proportion. */
type OpShare = readonly [op: number, ratio: number];

/** For each row of `hlo_ops` the framework ops that it stands for, largest share first. */
export function opsOfHlos(tables: Tables, nHlos: number): readonly (readonly OpShare[])[] {
  const row = numbers(tables("hlo_units") ?? EMPTY_TABLE, "hlo");
  const shares = tables("op_shares") ?? EMPTY_TABLE;
  const [unit, op, ratio] = columns(shares, "unit", "op", "ratio");
  const found: OpShare[][] = Array.from({ length: nHlos }, () => []);
  for (let i = 0; i < shares.n; i++) if (row[unit[i]] >= 0) found[row[unit[i]]].push([op[i], ratio[i]]);
  return found.map((list) => list.sort((a, b) => b[1] - a[1]));
}

interface HloLook {
  readonly grouping: () => Grouping;
  readonly framework: Framework;
  readonly opOf: (row: HloRow) => { readonly name: string; readonly isOwn: boolean; readonly title: string };
}

type HloHas = Readonly<Record<"manyPrograms" | "flops" | "bytes" | "source", boolean>>;

function hloColumns({ grouping, framework, opOf }: HloLook, has: HloHas): GridColumn<HloRow>[] {
  const isOp = () => grouping() === "op";
  const late = { isOptional: true, shownFrom: 1340 };
  const program = (row: HloRow) => (isOp() ? row.meta.program : "");
  const source = (row: HloRow) => (isOp() ? row.meta.source : "");
  const category = (row: HloRow) => (grouping() === "program" ? "" : row.meta.category);
  const op = (row: HloRow) => (isOp() ? opOf(row).name : "");
  const opTip = `The ${framework} op that the instruction was made from, of a fusion that of its result; grey where it names none: the op that its time counts for`;
  const ratio = { id: "ratio", title: "Self, %", tip: "Of the self time of all HLO ops", width: 58, isOptional: false };
  const over = "over total time, as the trace says or else estimated from the program";
  const rate = (id: "gflops" | "gibps", title: string, what: string, width: number) =>
    numberColumn<HloRow>({ id, title, tip: `${what} ${over}`, width }, (row) => row[id]);
  const about = { id: "op", title: `${framework} op`, tip: opTip };
  const path = { id: "source", title: "Source", width: 130, ...late };
  // The file's name and the line; the path is on hover.
  const cell = (row: HloRow) => titled(source(row).replace(/^.*[\\/]/, ""), source(row));
  const title = (row: HloRow) => (isOp() ? opOf(row).title : "");
  return [
    rankColumn("Rank by self time"),
    nameColumn({ id: "category", title: "Category", width: 130, narrowWidth: 104 }, category),
    hloColumn(grouping),
    nameColumn(about, op, title, (row) => isOp() && !opOf(row).isOwn),
    countColumn("Executions in the range"),
    selfColumn(200, 140, (row) => `var(--c-${row.meta.device === "Device" ? "device_compute" : "host_compute"})`),
    numberColumn(ratio, (row) => row.ratio * 100),
    totalColumn(1240),
    averageColumn("Total time per execution"),
    ...(has.flops ? [rate("gflops", "GFLOP/s", "Floating point operations", 70)] : []),
    ...(has.bytes ? [rate("gibps", "GiB/s", "Bytes read and written", 62)] : []),
    ...(has.source ? [textColumn({ ...path, cell }, source)] : []),
    ...(has.manyPrograms ? [nameColumn({ id: "program", title: "Program", width: 140, ...late }, program)] : []),
  ];
}

function hloColumn(grouping: () => Grouping): GridColumn<HloRow> {
  const nOps = (row: HloRow) => plural(row.hlos.length, "HLO op");
  return {
    ...{ id: "name", title: "HLO op", value: (row) => row.meta.name },
    names: ({ meta }) => (grouping() === "program" ? meta.program : meta.name),
    cell: (row, { cut }) => {
      const { name, program, expression } = row.meta;
      if (grouping() === "op") return titled(cut(name), expression || name);
      if (grouping() === "program") return titled(cut(program), `${program}\n${nOps(row)}`);
      return titled(plural(row.hlos.length, "op"), "", true);
    },
  };
}

export function hloCsv(grouping: () => Grouping): CsvColumns<HloRow> {
  /** What a group has only where it is by that. */
  const own =
    (key: keyof HloOp, group: Grouping = "op") =>
    ({ meta }: HloRow): Cell =>
      grouping() === "op" || grouping() === group ? (meta[key] as Cell) : "";
  return {
    rank: (row) => row.rank,
    program_id: own("program_id", "program"),
    module: own("module", "program"),
    category: own("category", "category"),
    name: own("name"),
    expression: own("expression"),
    op_name: own("op_name"),
    op_type: own("op_type"),
    device: (row) => row.meta.device,
    n_hlo_ops: (row) => row.hlos.length,
    ...TIMES_CSV,
    self_time_ratio: (row) => row.ratio,
    flop_rate_gflops: (row) => row.gflops,
    memory_bandwidth_gibps: (row) => row.gibps,
    source: own("source"),
  };
}

const GROUPINGS: readonly Choice<Grouping>[] = [
  { value: "op", text: "by op" },
  { value: "category", text: "by category" },
  { value: "program", text: "by program" },
];
const NOUNS: Readonly<Record<Grouping, string>> = { op: "HLO ops", category: "categories", program: "programs" };

const MANY_OPS = 200;

class HloTable {
  #grouping: Grouping = "op";
  /** By what they do, for the bar: a category of fusions does many things. */
  #families: readonly HloRow[] = [];
  #regroup: (keep?: (hlo: number) => boolean) => HloRow[] = () => [];
  readonly #hlos: readonly HloOp[];
  readonly #shares: readonly (readonly OpShare[])[];
  readonly #ops: readonly (readonly string[])[];
  readonly #table: LinkedTable<HloRow>;

  constructor(readonly view: TraceView) {
    const { data } = view;
    const { meta } = data;
    this.#hlos = withPrograms(meta.hlo_ops ?? []);
    if (this.#hlos.length > MANY_OPS) this.#grouping = "category";
    this.#shares = opsOfHlos(data.table, this.#hlos.length);
    this.#ops = this.#shares.map((list) => list.map(([op]) => meta.names[meta.op_name[op]]));
    this.#table = this.#createTable();
  }

  #createTable(): LinkedTable<HloRow> {
    const { data, signal } = this.view;
    const has = {
      manyPrograms: new Set(this.#hlos.map((hlo) => hlo.program)).size > 1,
      flops: this.#hlos.some((hlo) => (hlo.flops ?? 0) > 0),
      bytes: this.#hlos.some((hlo) => (hlo.bytes_accessed ?? 0) > 0),
      // XLA often knows only the line of TensorFlow that makes all ops.
      source: this.#hlos.some((hlo) => hlo.is_users),
    };
    const grouping = () => this.#grouping;
    const framework = frameworkOf(data.meta);
    const bar = new ShareBar("By kind", (key) => this.#pickFamily(key), signal);
    const group = (grouping: Grouping) => {
      this.#grouping = grouping;
      this.#table.compute();
    };
    return new LinkedTable<HloRow>(this.view, {
      label: "HLO ops by self time",
      filterLabel: `Filter HLO ops by name, category, ${framework} op or program`,
      noun: () => NOUNS[this.#grouping],
      weightNoun: "self time",
      weight: (row) => row.selfPs,
      columns: hloColumns({ grouping, framework, opOf: (row) => this.#opOf(row) }, has),
      sortBy: "self",
      key: (row) => `${this.#grouping}:${row.key}`,
      attributes: (row) => ({ "data-hlo-name": row.meta.name }),
      rows: (scope) => this.#rows(scope),
      isOverThreads: ({ meta }) => meta.device === "Host",
      texts: (row) => this.#texts(row.hlos[0]),
      // A group stands for those of its ops that match; an op keeps its rank and share among all.
      regroup: (test) => {
        const keep = (hlo: number) => this.#texts(hlo).some(test);
        if (this.#grouping !== "op") return this.#regroup(keep);
        return this.#regroup().filter((row) => keep(row.hlos[0]));
      },
      opsOf: (row) => row.hlos.flatMap((hlo) => this.#ops[hlo]),
      csv: { file: "hlo_ops.csv", columns: hloCsv(grouping) },
      controls: [segmented("Rows", GROUPINGS, this.#grouping, group, signal)],
      above: [bar.element],
      onRows: (_, nSteps) => {
        const look = { ...SHARE_LOOK, each: perStep("", nSteps) };
        bar.set(shareSegments(this.#families, (row) => row.selfPs, look));
      },
      titles: (nSteps) => ({
        ...timeTitles(nSteps),
        name: { op: "HLO op", category: "HLO ops", program: "Program" }[this.#grouping],
      }),
      empty: () => (this.#hlos.length === 0 ? noPrograms(data.meta, signal) : null),
    });
  }

  #rows(scope: Scope): HloRow[] {
    const { data } = this.view;
    const totals = hloTotals(data.meta, data.table, this.#hlos.length, scope);
    this.#families = hloRows(this.#hlos, totals, "family");
    this.#regroup = (keep) => {
      const occurrences = keep ? totals.occurrences.map((n, hlo) => (keep(hlo) ? n : 0)) : totals.occurrences;
      return hloRows(this.#hlos, { ...totals, occurrences }, this.#grouping);
    };
    return this.#regroup();
  }

  /** The op of the row's own metadata, else the one that its time counts for; on hover all that it counts for. */
  #opOf(row: HloRow): { name: string; isOwn: boolean; title: string } {
    const { op_name, op_type } = row.meta;
    const shares = this.#shares[row.hlos[0]];
    const names = this.#ops[row.hlos[0]];
    const lines = shares.slice(0, N_SHARES).map(([, ratio], i) => `${formatPercent(ratio)} ${names[i]}`);
    if (shares.length > N_SHARES) lines.push(`and ${plural(shares.length - N_SHARES, "other op")} of ${shares.length}`);
    const counts = lines.length > 0 ? `Its time counts for\n${lines.join("\n")}` : "";
    const own = op_name && op_type ? `${op_name}\n${op_type}` : op_name;
    return {
      name: op_name || names[0] || "",
      isOwn: op_name !== "",
      title: [own, counts].filter(Boolean).join("\n\n"),
    };
  }

  #texts(hlo: number): readonly string[] {
    const { name, category, op_name, op_type, module, source } = this.#hlos[hlo];
    return [name, category, op_name, op_type, module, source];
  }

  #pickFamily(key: string): void {
    const row = this.#families.find((one) => one.key === key);
    if (row) this.#table.pick(row.hlos.flatMap((hlo) => this.#ops[hlo]));
  }
}

const SHARE_LOOK: ShareLook<HloRow> = {
  noun: "kinds",
  whole: "self time",
  of: ({ key, meta }) => {
    const family = FAMILIES[meta.family] ?? "runtime";
    const name = FAMILY_LABELS[family];
    return { key, name, short: [name], family };
  },
};

function noPrograms(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  if (meta.op_name.length === 0) return noOps(meta, signal);
  const framework = frameworkOf(meta);
  const isKeras = framework === "TensorFlow";
  const ofKeras = isKeras ? " Keras compiles a training step by itself on one GPU, and anywhere when asked to:" : "";
  const why = `XLA compiled nothing that ran here, so the Ops view tells everything.${ofKeras}`;
  return emptyState("No XLA program in this capture", why, COMPILE_CODE[framework], signal);
}

export const hloTable: TraceBuilder = {
  name: "hlo_table",
  build: (view) => void new HloTable(view),
  needs: ["hlo_ops", "hlo_units", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "ops",
};
