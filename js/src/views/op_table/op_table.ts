/** The occurrences of ops in the linked time range -> a table to sort, filter and save, one row per op or per type. */

import { opColors } from "../../colors/op_colors";
import { type OpRow, opRows } from "../../model/ops/ops";
import { type OpsOfSteps, opsOfScope, ranOps, withoutWaiting } from "../../model/ops/ranged_ops";
import { perStep } from "../../model/time/scope";
import { type Scope, STEADY } from "../../model/time/viewport";
import { type Choice, h, noOps, segmented, toggle } from "../../ui/dom";
import { LinkedTable } from "../../ui/linked_table";
import { OPS_OF_HOST } from "../../ui/of_host";
import { timeTitles } from "../../ui/op_columns";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { type Where, whereSwitch } from "../../ui/where_switch";
import { opColumns, opCsv, opRates, type RankedOp } from "./columns";
import { Distribution } from "./distribution";

const ROWS: readonly Choice<"op" | "type">[] = [
  { value: "op", text: "by op" },
  { value: "type", text: "by type" },
];

/** Of more ops each is a small part: what kind of work there is says more at first. */
const MANY_OPS = 200;

class OpTable {
  #where: Where = "both";
  #byType: boolean;
  #withIdle = false;
  #withWaiting = false;
  #hasShares = true;
  #totals: OpsOfSteps | null = null;
  #byOp: readonly OpRow[] = [];
  #byTypes: readonly OpRow[] = [];
  readonly #opsOfType = new Map<string, string[]>();
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
    meta.op_name.forEach((name, op) => {
      const key = `type:${meta.op_device[op]}:${meta.names[meta.op_type[op]]}`;
      const ops = this.#opsOfType.get(key);
      if (ops) ops.push(meta.names[name]);
      else this.#opsOfType.set(key, [meta.names[name]]);
    });
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
    const rates = opRates(view.data.table("op_rates"));
    return new LinkedTable<RankedOp>(view, {
      label: "Ops by self time",
      filterLabel: "Filter ops by name or type",
      noun: () => (this.#byType ? "types" : "ops"),
      weightNoun: "self time",
      weight: (row) => row.selfPs,
      columns: opColumns(
        () => this.#byType,
        () => this.#where === "both" && view.data.meta.op_device.includes(1),
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
        return this.#byType
          ? ranked(this.#rowsBy(true, keep))
          : ranked(this.#byOp).filter((row) => keep(row.name, row.type));
      },
      opsOf: (row) => this.#opsOf(row),
      whyEmpty: (scope) => this.#whyEmpty(scope),
      csv: { file: "ops.csv", columns: opCsv(rates) },
      controls: this.#controls(),
      above: [this.#distribution.element],
      onSelection: (chosen) => this.#distribution.setSelected(this.#keysOf(chosen)),
      empty: () => (isEmpty(view) ? noOps(view.data.meta, view.signal) : null),
    });
  }

  #controls(): HTMLElement[] {
    const { signal } = this.view;
    const setIdle = (isOn: boolean) => {
      this.#withIdle = isOn;
      this.#table.compute();
    };
    this.#idle = toggle("Idle", false, setIdle, signal);
    const setWaiting = (isOn: boolean) => {
      this.#withWaiting = isOn;
      this.#table.compute();
    };
    const waitingTitle = "Also iterators of tf.data in which a thread waits for another one to make an element";
    const setShares = (isOn: boolean) => {
      this.#hasShares = isOn;
      this.#showShares();
    };
    const sharesTitle = "Bars of the ten types and ops with most self time, above the table";
    const setWhere = (where: Where) => {
      this.#where = where;
      this.#table.compute();
    };
    const setRows = (rows: "op" | "type") => {
      this.#byType = rows === "type";
      this.#table.compute();
    };
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
    this.#byOp = this.#rowsBy(false);
    this.#byTypes = this.#rowsBy(true);
    this.#showShares();
    return ranked(this.#byType ? this.#byTypes : this.#byOp);
  }

  /** Whether an op that only waits is selected, as by advice on the input: then it is shown. */
  #seeksWaiting(): boolean {
    const { meta } = this.view.data;
    const chosen = new Set(this.view.link.selection);
    return (meta.op_waits ?? []).some((waits, op) => waits === 1 && chosen.has(meta.names[meta.op_name[op]]));
  }

  #showShares(): void {
    this.#distribution.element.hidden = !this.#hasShares;
    if (this.#hasShares) this.#distribution.set(this.#byTypes, this.#byOp, perStep("", this.#totals?.nSteps ?? null));
  }

  #rowsBy(byType: boolean, keep?: (name: string, type: string) => boolean): OpRow[] {
    if (this.#totals === null) return [];
    const side = this.#where === "both" ? {} : ({ side: this.#where === "device" ? 1 : 0 } as const);
    return opRows(this.view.data.meta, this.#totals, {
      byType,
      withIdle: this.#withIdle,
      ...side,
      ...(keep && { keep }),
    });
  }

  #opsOf(row: OpRow): readonly string[] {
    if (row.isIdle) return [];
    return row.name ? [row.name] : (this.#opsOfType.get(row.key) ?? []);
  }

  #pickKey(key: string): void {
    const row = [...this.#byOp, ...this.#byTypes].find((one) => one.key === key);
    if (row) this.#table.pick(this.#opsOf(row));
  }

  #keysOf(chosen: ReadonlySet<string>): Set<string> {
    if (chosen.size === 0) return new Set();
    const rows = [...this.#byOp, ...this.#byTypes];
    return new Set(rows.filter((row) => this.#opsOf(row).some((name) => chosen.has(name))).map((row) => row.key));
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

function isEmpty({ data }: TraceView): boolean {
  return data.nRows("occurrences") === 0 && !ranOps(data.table);
}

export const opTable: TraceBuilder = {
  name: "op_table",
  build(view) {
    new OpTable(view);
  },
  needs: ["op_rates", "steps", "step_totals"],
  forRange: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
