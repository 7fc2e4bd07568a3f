/** The occurrences of ops in the linked time range -> a table to sort, filter and save, one row per op or per type. */

import { opColors } from "../../colors/op_colors";
import { type OpRow, type OpTotals, opRows } from "../../model/ops/ops";
import { rangedOps, ranOps } from "../../model/ops/ranged_ops";
import type { RangePs } from "../../model/time/viewport";
import { type Choice, h, noOps, segmented, toggle } from "../../ui/dom";
import { LinkedTable } from "../../ui/linked_table";
import { OPS_OF_HOST } from "../../ui/of_host";
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
  #hasShares = true;
  #totals: OpTotals | null = null;
  #byOp: readonly OpRow[] = [];
  #byTypes: readonly OpRow[] = [];
  readonly #opsOfType = new Map<string, string[]>();
  readonly #distribution: Distribution;
  readonly #table: LinkedTable<RankedOp>;

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
      columns: opColumns(() => this.#byType, familyOf, rates),
      sortBy: "self",
      key: (row) => row.key,
      attributes: (row) => ({ "data-op-name": row.name || row.type }),
      rows: (range) => this.#rows(range),
      texts: (row) => [row.name, row.type],
      // By type, a row stands for the ops that match; by op, a row keeps its rank among all.
      regroup: (test) => {
        const keep = (name: string, type: string) => test(name) || test(type);
        return this.#byType
          ? ranked(this.#rowsBy(true, keep))
          : ranked(this.#byOp).filter((row) => keep(row.name, row.type));
      },
      opsOf: (row) => this.#opsOf(row),
      whyEmpty: (range) => this.#whyEmpty(range),
      csv: { file: "ops.csv", columns: opCsv(rates) },
      controls: this.#controls(),
      above: [this.#distribution.element],
      onSelection: (chosen) => this.#distribution.setSelected(this.#keysOf(chosen)),
      empty: () => (isEmpty(view) ? noOps(view.signal) : null),
    });
  }

  #controls(): HTMLElement[] {
    const { signal } = this.view;
    const setIdle = (isOn: boolean) => {
      this.#withIdle = isOn;
      this.#table.compute();
    };
    const title = "Also the time in which a thread or a device ran no op";
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
    const where = whereSwitch(this.view.data.meta.op_device, setWhere, signal);
    return [
      ...(where ? [where] : []),
      segmented("Rows", ROWS, this.#byType ? "type" : "op", setRows, signal),
      h("span.seg", toggle("Idle", false, setIdle, signal, { title })),
      h("span.seg", toggle("Shares", true, setShares, signal, { title: sharesTitle })),
    ];
  }

  #rows(range: RangePs): RankedOp[] {
    const { data } = this.view;
    this.#totals = rangedOps(data.meta, (name) => data.table(name), range);
    this.#byOp = this.#rowsBy(false);
    this.#byTypes = this.#rowsBy(true);
    this.#showShares();
    return ranked(this.#byType ? this.#byTypes : this.#byOp);
  }

  #showShares(): void {
    this.#distribution.element.hidden = !this.#hasShares;
    if (this.#hasShares) this.#distribution.set(this.#byTypes, this.#byOp);
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

  #whyEmpty(range: RangePs): string {
    const where = { both: "", host: " on the host", device: " on a device" }[this.#where];
    if (range === null) return `No op ran${where} in this capture.`;
    return `No op ran${where} in this time range. Clear the range to see all ops.`;
  }
}

function ranked(rows: readonly OpRow[]): RankedOp[] {
  return rows.map((row, i) => ({ ...row, rank: i + 1 }));
}

function isEmpty({ data }: TraceView): boolean {
  return data.nRows("occurrences") === 0 && !ranOps((name) => data.table(name));
}

export const opTable: TraceBuilder = {
  name: "op_table",
  build(view) {
    new OpTable(view);
  },
  needs: ["op_rates", "steps"],
  forRange: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
