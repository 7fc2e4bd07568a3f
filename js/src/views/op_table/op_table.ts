/** Ops in the linked time range: bars of shares and a table, one row per op or per type. */

import { groupBy, type Scope, STEADY } from "../../data/columns";
import { ranOps } from "../../data/hosts";
import type { Table } from "../../data/pack";
import { opCategory, opColors } from "../../model/colors";
import { shortName } from "../../model/names";
import { type OpRow, type OpsOfSteps, opRows, opsOfScope, withoutWaiting } from "../../model/ops";
import { perStep } from "../../model/range";
import { type CsvColumns, plural } from "../../model/text";
import { type Where, whereSwitch } from "../../ui/controls";
import { type Choice, h, noOps, segmented, toggle } from "../../ui/dom";
import { isMostlyRest, ShareBar, shareSegments } from "../../ui/share_bar";
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

interface RankedOp extends OpRow {
  readonly rank: number;
}

/** What is known of the work of each op over the whole capture, by op id; NaN unknown. */
type OpRates = Readonly<Record<"gflops" | "gibps" | "tensorCore", ArrayLike<number>>>;

function opRates(table: Table | undefined): OpRates {
  const column = (name: string) => (table?.columns[name] as Float64Array | undefined) ?? [];
  const [gflops, gibps] = [column("flop_rate_gflops"), column("memory_bandwidth_gibps")];
  return { gflops, gibps, tensorCore: column("tensor_core_ratio") };
}

function opColumns(
  isByType: () => boolean,
  isOfBothSides: () => boolean,
  familyOf: (op: number) => string,
  rates: OpRates,
): GridColumn<RankedOp>[] {
  const color = (row: RankedOp) => `var(--c-${opCategory(row, row.isIdle ? "runtime" : familyOf(row.op))})`;
  const side = { id: "ratio", title: "Of side, %", tip: "Of the self time of all ops of its side, device or host" };
  const upTo = "Self time of this and all larger ops of its side";
  return [
    rankColumn("Rank by self time"),
    nameColumn({ id: "type", title: "Type", width: 152, narrowWidth: 132 }, "type"),
    opColumn(isByType),
    textColumn({ id: "where", title: "Where", width: 58, value: (row) => row.device }, whereOf),
    countColumn("Occurrences in the range"),
    selfColumn(250, 158, color),
    numberColumn({ ...side, width: 70, isOptional: false }, (row) => row.selfRatio * 100),
    // Of two sides in one list it would go up and down.
    numberColumn({ id: "cumulative", title: "Cumulative, %", tip: upTo, width: 90 }, (row) =>
      isOfBothSides() ? Number.NaN : row.cumulativeRatio * 100,
    ),
    totalColumn(),
    averageColumn("Total time per occurrence"),
    ...rateColumns(rates),
  ];
}

function opColumn(isByType: () => boolean): GridColumn<RankedOp> {
  const names = ({ name }: RankedOp) => name;
  return {
    ...{ id: "name", title: "Name", names, value: (row) => row.name || row.type },
    cell: (row, { cut }) => {
      if (row.isIdle) return titled("no op running", "", true);
      if (isByType()) return titled(plural(row.nOps, "op"), "", true);
      return titled(cut(row.name), row.isEager ? `${row.name}\n(runs eagerly)` : row.name);
    },
  };
}

function rateOf(rates: ArrayLike<number>, row: RankedOp): number {
  return row.name && !row.isIdle ? (rates[row.op] ?? Number.NaN) : Number.NaN;
}

/** Only what the trace tells of any op. */
function rateColumns({ gflops, gibps, tensorCore }: OpRates): GridColumn<RankedOp>[] {
  const over = "over total time in the whole capture, as the trace says or else estimated from the compiled program";
  const used = "Part of the op's kernel time in the whole capture that ran on Tensor Cores";
  const column = (id: string, title: string, tip: string, width: number, rates: ArrayLike<number>, scale = 1) => {
    if (!Array.from(rates).some(Number.isFinite)) return [];
    // With less room too little is left for the names.
    const head = { id, title, tip, width, shownFrom: 1240 };
    return [numberColumn<RankedOp>(head, (row) => rateOf(rates, row) * scale)];
  };
  return [
    ...column("gflops", "GFLOP/s", `Operations ${over}`, 68, gflops),
    ...column("gibps", "GiB/s", `Bytes read and written ${over}`, 58, gibps),
    ...column("tensor", "Tensor Core, %", used, 104, tensorCore, 100),
  ];
}

function whereOf({ device }: RankedOp): string {
  return device ? "device" : "host";
}

export function opCsv({ gflops, gibps, tensorCore }: OpRates): CsvColumns<RankedOp> {
  return {
    rank: (row) => row.rank,
    device: whereOf,
    type: (row) => row.type,
    name: (row) => row.name,
    n_ops: (row) => row.nOps,
    ...TIMES_CSV,
    self_time_ratio: (row) => row.selfRatio,
    cumulative_ratio: (row) => row.cumulativeRatio,
    eager: (row) => row.isEager,
    flop_rate_gflops: (row) => rateOf(gflops, row),
    memory_bandwidth_gibps: (row) => rateOf(gibps, row),
    tensor_core_ratio: (row) => rateOf(tensorCore, row),
  };
}

type Rows = Readonly<Record<"type" | "op", readonly OpRow[]>>;

class Distribution {
  readonly element = h("div.tfp-distribution");
  readonly #bars: readonly { readonly device: number; readonly by: keyof Rows; readonly bar: ShareBar }[];

  constructor(
    readonly familyOf: (op: number) => string,
    onPick: (key: string) => void,
    signal: AbortSignal,
  ) {
    this.#bars = ["Host", "Device"].flatMap((name, device) =>
      (["type", "op"] as const).map((by) => ({ device, by, bar: new ShareBar(`${name} by ${by}`, onPick, signal) })),
    );
    const elements = this.#bars.map(({ bar }) => bar.element);
    this.element.append(...elements.slice(2), ...elements.slice(0, 2));
  }

  set(rows: Rows, each: string): void {
    for (const { device, by, bar } of this.#bars) {
      const own = rows[by].filter((row) => row.device === device);
      this.#fill(bar, own, `${by}s`, each);
    }
  }

  setSelected(keys: ReadonlySet<string>): void {
    for (const { bar } of this.#bars) bar.setSelected(keys);
  }

  #fill(bar: ShareBar, rows: readonly OpRow[], noun: string, each: string): void {
    const of = (row: OpRow) => {
      const name = row.isIdle ? "no op running" : row.name || row.type;
      const short = row.isIdle ? [name, "idle"] : labelsOf(name);
      return { key: row.key, name, short, family: row.isIdle ? "runtime" : this.familyOf(row.op) };
    };
    const segments = shareSegments(rows, (row) => row.selfPs, { noun, whole: "self time", each, of });
    bar.element.hidden = segments.length === 0 || isMostlyRest(segments);
    bar.set(segments);
  }
}

/** Ever shorter names, each of which still says which op it is. */
export function labelsOf(name: string): string[] {
  const parts = name.split("/");
  const lastTwo = parts.length > 2 ? [`…/${parts.slice(-2).join("/")}`] : [];
  return [...new Set([name, ...lastTwo, shortName(name)])];
}

const ROWS: readonly Choice<"op" | "type">[] = [
  { value: "op", text: "by op" },
  { value: "type", text: "by type" },
];

const MANY_OPS = 200;

class OpTable {
  #where: Where = "both";
  #byType: boolean;
  #withIdle = false;
  #withWaiting = false;
  #hasShares = true;
  #totals: OpsOfSteps | null = null;
  #shown: Rows = { op: [], type: [] };
  readonly #opsOfType: ReadonlyMap<string, readonly number[]>;
  readonly #distribution: Distribution;
  readonly #table: LinkedTable<RankedOp>;
  #idle: HTMLButtonElement | null = null;
  #waiting: HTMLButtonElement | null = null;
  /** Whether waiting is shown for the sake of what is selected. */
  #hadWaiting = false;

  constructor(readonly view: TraceView) {
    const { signal, data } = view;
    const { meta } = data;
    this.#byType = meta.op_name.length > MANY_OPS;
    const typeOf = (op: number) => `type:${meta.op_device[op]}:${meta.names[meta.op_type[op]]}`;
    this.#opsOfType = groupBy(meta.op_name.keys(), typeOf);
    const { familyOf } = opColors(meta);
    this.#distribution = new Distribution(familyOf, (key) => this.#pickKey(key), signal);
    const follow = () => {
      if (this.#seeksWaiting() !== this.#hadWaiting) this.#table.compute();
    };
    view.link.on("selection", follow, signal);
    this.#table = this.#createTable(familyOf);
  }

  #createTable(familyOf: (op: number) => string): LinkedTable<RankedOp> {
    const { view } = this;
    const { meta } = view.data;
    const rates = opRates(view.data.table("op_rates"));
    const hasOps = () => view.data.nRows("occurrences") > 0 || ranOps(view.data.table);
    return new LinkedTable<RankedOp>(view, {
      label: "Ops by self time",
      filterLabel: "Filter ops by name or type",
      noun: () => (this.#byType ? "types" : "ops"),
      weightNoun: "self time",
      weight: (row) => row.selfPs,
      columns: opColumns(
        () => this.#byType,
        () => this.#where === "both" && meta.op_device.includes(1),
        familyOf,
        rates,
      ),
      sortBy: "self",
      key: (row) => row.key,
      attributes: (row) => ({ "data-op-name": row.name || row.type }),
      rows: (scope) => this.#rows(scope),
      titles: timeTitles,
      isOverThreads: ({ device }) => device === 0,
      texts: (row) => [row.name, row.type],
      // By type, a row stands for the ops that match; by op, a row keeps its rank among all.
      regroup: (test) => {
        const keep = (name: string, type: string) => test(name) || test(type);
        if (this.#byType) return ranked(this.#rowsBy(true, keep));
        return ranked(this.#shown.op).filter((row) => keep(row.name, row.type));
      },
      opsOf: (row) => this.#opsOf(row),
      whyEmpty: (scope) => this.#whyEmpty(scope),
      csv: { file: "ops.csv", columns: opCsv(rates) },
      controls: this.#controls(),
      above: [this.#distribution.element],
      onSelection: (chosen) => this.#distribution.setSelected(this.#keysOf(chosen)),
      empty: () => (hasOps() ? null : noOps(view.data.meta, view.signal)),
    });
  }

  #controls(): HTMLElement[] {
    const { signal } = this.view;
    const anew =
      <T>(set: (value: T) => void) =>
      (value: T) => {
        set(value);
        this.#table.compute();
      };
    const setIdle = anew((isOn: boolean) => (this.#withIdle = isOn));
    this.#idle = toggle("Idle", false, setIdle, signal);
    const setWaiting = anew((isOn: boolean) => (this.#withWaiting = isOn));
    const waitingTitle = "Also iterators of tf.data in which a thread waits for another one to make an element";
    const setShares = (isOn: boolean) => {
      this.#hasShares = isOn;
      this.#showShares();
    };
    const sharesTitle = "Bars of the ten types and ops with most self time, above the table";
    const setWhere = anew((where: Where) => (this.#where = where));
    const setRows = anew((rows: "op" | "type") => (this.#byType = rows === "type"));
    const { op_device, op_waits = [] } = this.view.data.meta;
    const where = whereSwitch(op_device, setWhere, signal);
    if (op_waits.includes(1)) this.#waiting = toggle("Waiting", false, setWaiting, signal, { title: waitingTitle });
    return [
      ...(where ? [where] : []),
      segmented("Rows", ROWS, this.#byType ? "type" : "op", setRows, signal),
      h("span.seg", this.#idle),
      ...(this.#waiting ? [h("span.seg", this.#waiting)] : []),
      h("span.seg", toggle("Shares", true, setShares, signal, { title: sharesTitle })),
    ];
  }

  #rows(scope: Scope): RankedOp[] {
    const { data } = this.view;
    const totals = opsOfScope(data.meta, data.table, scope);
    const isSought = this.#seeksWaiting();
    this.#totals = this.#withWaiting || isSought ? totals : withoutWaiting(data.meta, totals);
    this.#waiting?.setAttribute("aria-pressed", String(this.#withWaiting || isSought));
    this.#hadWaiting = isSought;
    if (this.#idle !== null) {
      // What a thread does for a step is known, but not when it could have run.
      this.#idle.disabled = scope === STEADY;
      this.#idle.title =
        scope === STEADY
          ? "Idle time is known of a range and of the whole capture"
          : "Also the time in which a thread or a device ran no op";
    }
    this.#shown = { op: this.#rowsBy(false), type: this.#rowsBy(true) };
    this.#showShares();
    return ranked(this.#shown[this.#byType ? "type" : "op"]);
  }

  /** Whether an op that only waits is selected, as by advice on the input: then it is shown. */
  #seeksWaiting(): boolean {
    const { meta } = this.view.data;
    const chosen = new Set(this.view.link.selection);
    return (meta.op_waits ?? []).some((waits, op) => waits === 1 && chosen.has(meta.names[meta.op_name[op]]));
  }

  #showShares(): void {
    this.#distribution.element.hidden = !this.#hasShares;
    if (this.#hasShares) this.#distribution.set(this.#shown, perStep("", this.#totals?.nSteps ?? null));
  }

  #rowsBy(byType: boolean, keep?: (name: string, type: string) => boolean): OpRow[] {
    if (this.#totals === null) return [];
    const options = { byType, withIdle: this.#withIdle, ...(keep && { keep }) };
    const side = this.#where === "both" ? {} : ({ side: this.#where === "device" ? 1 : 0 } as const);
    return opRows(this.view.data.meta, this.#totals, { ...options, ...side });
  }

  #opsOf(row: OpRow): readonly string[] {
    if (row.isIdle) return [];
    if (row.name) return [row.name];
    const { meta } = this.view.data;
    return (this.#opsOfType.get(row.key) ?? []).map((op) => meta.names[meta.op_name[op]]);
  }

  get #bars(): readonly OpRow[] {
    return [...this.#shown.op, ...this.#shown.type];
  }

  #pickKey(key: string): void {
    const row = this.#bars.find((one) => one.key === key);
    if (row) this.#table.pick(this.#opsOf(row));
  }

  #keysOf(chosen: ReadonlySet<string>): Set<string> {
    if (chosen.size === 0) return new Set();
    const isChosen = (row: OpRow) => this.#opsOf(row).some((name) => chosen.has(name));
    return new Set(this.#bars.filter(isChosen).map(({ key }) => key));
  }

  #whyEmpty(scope: Scope): string {
    const where = { both: "", host: " on the host", device: " on a device" }[this.#where];
    if (scope === null) return `No op ran${where} in this capture.`;
    if (scope === STEADY) return `No op ran${where} in the averaged steps. The whole capture may have some.`;
    return `No op ran${where} in this time range. Clear the range to see all ops.`;
  }
}

function ranked(rows: readonly OpRow[]): RankedOp[] {
  return rows.map((row, i) => ({ ...row, rank: i + 1 }));
}

export const opTable: TraceBuilder = {
  name: "op_table",
  build: (view) => void new OpTable(view),
  needs: ["op_rates", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "ops",
};
