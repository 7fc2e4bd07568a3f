/** The occurrences of ops in the linked time range -> a table to sort, filter and save, one row per op or per type. */

import "./op_table.css";
import { toCsv } from "./core/csv";
import { cutNames } from "./core/cut";
import { formatCount, formatPercent } from "./core/format";
import { type OpRow, opFamily, opRows, opTotals, type RangePs, textFilter } from "./core/ops";
import { describeRange, rangeInPs } from "./core/span_text";
import { EMPTY_TABLE } from "./core/wire";
import { button, type Choice, download, emptyState, h, segmented } from "./draw/dom";
import { createGrid, type Grid } from "./draw/grid";
import { inFrame, paced, textFits } from "./draw/page";
import { CSV_HEADER, csvRow, type OpLook, opColumns, type RankedOp } from "./ops/columns";
import { mount, type TraceView } from "./view";

type Where = "both" | "host" | "device";

const WHERE: readonly Choice<Where>[] = [
  { value: "both", text: "Host and device" },
  { value: "host", text: "Host" },
  { value: "device", text: "Device" },
];
const ROWS: readonly Choice<"op" | "type">[] = [
  { value: "op", text: "by op" },
  { value: "type", text: "by type" },
];
class OpTable {
  #text = "";
  #where: Where = "both";
  #byType = false;
  #withIdle = false;
  /** All rows of the range, before the filter. */
  #all: RankedOp[] = [];
  #rows: (keep?: (name: string, type: string) => boolean) => OpRow[] = () => [];
  #shown: RankedOp[] = [];
  #cuts = new Map<string, string>();
  #typeCuts = new Map<string, string>();
  #maxSelf = 0;
  readonly #families: ArrayLike<number>;
  readonly #grid: Grid<RankedOp>;
  readonly #count = h("span", { class: "q", role: "status" });
  readonly #input = h("input", {
    type: "search",
    placeholder: "Filter: text or /regex/",
    "aria-label": "Filter ops by name or type",
  });
  readonly #filter: () => void;

  constructor(readonly view: TraceView) {
    const { signal, data, link } = view;
    this.#families = ((data.table("names") ?? EMPTY_TABLE).columns.family as ArrayLike<number>) ?? [];
    this.#grid = createGrid<RankedOp>(
      opColumns(() => this.#look()),
      {
        label: "Ops by self time",
        key: (row) => row.key,
        attributes: (row) => ({ "data-op-name": row.name || row.type }),
        onPick: (row) => this.#pick(row),
        sortBy: "self",
        placeholder: "",
        signal,
        onWidths: () => this.#filter(),
      },
    );
    this.#filter = inFrame(
      view.guard(() => this.#applyFilter()),
      signal,
    );
    const compute = paced(
      view.guard(() => this.#compute()),
      signal,
    );
    view.root.classList.add("tfp-op_table");
    view.root.append(h("div", { class: "tfp-fill" }, this.#toolbar(), this.#grid.element));
    link.on("time_range", compute, signal);
    link.on(
      "selection",
      view.guard(() => this.#followSelection(true)),
      signal,
    );
    data.onChange(() => data.isComplete && compute(), signal);
    this.#compute();
  }

  get #range(): RangePs {
    return rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
  }

  #toolbar(): HTMLElement {
    const { signal } = this.view;
    this.#input.addEventListener(
      "input",
      () => {
        this.#text = this.#input.value;
        this.#filter();
      },
      { signal },
    );
    const flipIdle = () => {
      this.#withIdle = !this.#withIdle;
      idle.setAttribute("aria-pressed", String(this.#withIdle));
      this.#compute();
    };
    const title = "Also the time in which a thread or a device ran no op";
    const idle = button("Idle", flipIdle, signal, { "aria-pressed": "false", title });
    const setWhere = (where: Where) => {
      this.#where = where;
      this.#compute();
    };
    const setRows = (rows: "op" | "type") => {
      this.#byType = rows === "type";
      this.#compute();
    };
    return h(
      "div",
      { class: "bar" },
      this.#input,
      segmented("Where", WHERE, "both", setWhere, signal),
      segmented("Rows", ROWS, "op", setRows, signal),
      h("span", { class: "seg" }, idle),
      h("span", { class: "sp" }),
      this.#count,
      button("CSV", () => this.#save(), signal, { title: "Save the rows shown, with full names and precision" }),
    );
  }

  #compute(): void {
    const { data, root, signal } = this.view;
    const occurrences = data.table("occurrences") ?? EMPTY_TABLE;
    const { meta } = data;
    if (occurrences.n === 0 && data.isComplete) {
      root.replaceChildren(noOps(signal));
      return;
    }
    const totals = opTotals(occurrences, data.table("op_lines"), meta.op_name.length, this.#range);
    const names = {
      names: meta.names,
      opName: meta.op_name,
      opType: meta.op_type,
      opDevice: meta.op_device,
      opEager: meta.op_eager,
    };
    const side = this.#where === "both" ? {} : ({ side: this.#where === "device" ? 1 : 0 } as const);
    const options = { byType: this.#byType, withIdle: this.#withIdle, ...side };
    this.#rows = (keep) => opRows(names, totals, keep ? { ...options, keep } : options);
    this.#all = this.#rows().map((row, i) => ({ ...row, rank: i + 1 }));
    this.#applyFilter();
  }

  #applyFilter(): void {
    const { test, error } = textFilter(this.#text);
    this.#input.setAttribute("aria-invalid", String(error !== ""));
    this.#input.title = error;
    const keep = (name: string, type: string) => test(name) || test(type);
    if (this.#text.trim() === "") this.#shown = this.#all;
    // By type, a row stands for the ops that match; by op, a row keeps its rank among all.
    else if (this.#byType) this.#shown = this.#rows(keep).map((row, i) => ({ ...row, rank: i + 1 }));
    else this.#shown = this.#all.filter((row) => keep(row.name, row.type));
    this.#maxSelf = this.#shown.reduce((most, row) => Math.max(most, row.selfPs), 0);
    const width = this.#grid.columnWidth("name");
    const names = this.#shown.map((row) => row.name);
    this.#cuts = cutNames(names, textFits(this.view.root, (width || 320) - 14));
    const typeWidth = this.#grid.columnWidth("type") || 132;
    const types = this.#shown.map((row) => row.type);
    this.#typeCuts = cutNames(types, textFits(this.view.root, typeWidth - 14));
    this.#grid.setPlaceholder(this.#whyEmpty());
    this.#grid.setRows(this.#shown);
    this.#describe(error);
    this.#followSelection(false);
  }

  #whyEmpty(): string {
    if (this.#all.length > 0)
      return "No op matches the filter. Clear it, or write /pattern/i for a regular expression.";
    const where = { both: "", host: " on the host", device: " on a device" }[this.#where];
    if (this.#range === null) return `No op ran${where} in this capture.`;
    return `No op ran${where} in this time range. Clear the range to see all ops.`;
  }

  #describe(error: string): void {
    const { data } = this.view;
    const sum = (rows: readonly RankedOp[]) => rows.reduce((total, row) => total + row.selfPs, 0);
    const all = sum(this.#all);
    const noun = this.#byType ? "types" : "ops";
    const parts = [`${formatCount(this.#shown.length)} of ${formatCount(this.#all.length)} ${noun}`];
    if (all > 0) parts.push(`${formatPercent(sum(this.#shown) / all)} of self time`);
    if (this.#range !== null) {
      parts.push(describeRange(data.meta, data.table("steps"), this.#range));
    }
    this.#count.textContent = error ? `Filter not applied: ${error}` : parts.join(" · ");
  }

  #look(): OpLook {
    const { meta } = this.view.data;
    const names = { opName: meta.op_name, opType: meta.op_type };
    const familyOf = (op: number) => opFamily(names, this.#families, op);
    return { cuts: this.#cuts, typeCuts: this.#typeCuts, maxSelfPs: this.#maxSelf, isByType: this.#byType, familyOf };
  }

  #pick(row: RankedOp): void {
    if (row.isIdle) return;
    const { meta } = this.view.data;
    const names = this.#byType
      ? this.view.data.meta.op_name
          .map((name, op) => ({
            name: meta.names[name],
            type: meta.names[meta.op_type[op]],
            device: meta.op_device[op],
          }))
          .filter((op) => op.type === row.type && op.device === row.device)
          .map((op) => op.name)
      : [row.name];
    const isChosen =
      names.length === this.view.link.selection.length &&
      names.every((name) => this.view.link.selection.includes(name));
    this.view.link.setSelection(isChosen ? [] : [...new Set(names)]);
  }

  #followSelection(reveal: boolean): void {
    const chosen = new Set(this.view.link.selection);
    const types = new Set<string>();
    if (this.#byType && chosen.size > 0) {
      const { meta } = this.view.data;
      meta.op_name.forEach((name, op) => {
        if (chosen.has(meta.names[name])) types.add(`type:${meta.op_device[op]}:${meta.names[meta.op_type[op]]}`);
      });
    }
    const keys = this.#shown
      .filter((row) => (this.#byType ? types.has(row.key) : chosen.has(row.name) && !row.isIdle))
      .map((row) => row.key);
    this.#grid.setSelected(new Set(keys));
    if (reveal && keys[0] !== undefined) this.#grid.reveal(keys[0]);
  }

  #save(): void {
    download("ops.csv", toCsv(CSV_HEADER, this.#grid.shown().map(csvRow)), "text/csv");
  }
}

function noOps(signal: AbortSignal): HTMLElement {
  return emptyState(
    "No TensorFlow op in this capture",
    "The captured code ran no op, or only code that TensorFlow's profiler does not see. Capture a cell that trains or predicts:",
    "%%tfprofile\nmodel.fit(dataset, epochs=1)",
    signal,
  );
}

export default mount("op_table", (view) => {
  new OpTable(view);
});
