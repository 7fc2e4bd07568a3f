/** The ops of the linked time range and the lines that made them -> the reader's code with its time beside it. */

import { ranOps } from "../../model/ops/ranged_ops";
import { codeLines, coverage, type Heat, hottestLine } from "../../model/ops/source_lines";
import { CAPTURE_CODE, frameworkOf } from "../../model/overview/framework";
import { aStep, csvOf } from "../../model/text/csv";
import { formatPercent } from "../../model/text/format";
import { describeRange } from "../../model/time/span_text";
import type { TraceMeta } from "../../model/wire/meta";
import { button, download, emptyState, h, noOps, on } from "../../ui/dom";
import { follow } from "../../ui/following";
import { OVER_THREADS } from "../../ui/linked_table";
import { OPS_OF_HOST } from "../../ui/of_host";
import { watchSize } from "../../ui/page";
import { createTip, type TipBox } from "../../ui/plot";
import { toggleSelection } from "../../ui/selecting";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { type Where, whereSwitch } from "../../ui/where_switch";
import { CodeList } from "./code_list";
import { sourceCsv, sourceRows } from "./csv";
import { Details } from "./details";
import { ElseList, type ElseRow, elseRows } from "./else_list";
import { type HeatScale, tipLines } from "./heat";
import { SourceModel } from "./model";

const SAMPLES_TITLE =
  "Of the whole capture: the share of time that your thread spent at the line, Python and waiting included, by samples";
const TIP_PX = 30;

class SourceView {
  readonly #model: SourceModel;
  readonly #code: CodeList;
  readonly #else: ElseList;
  readonly #details: Details;
  readonly #say = h("span.tfp-say.q", { role: "status" });
  readonly #select = h("select", { "aria-label": "File or cell" });
  readonly #head = h("div.tfp-code-head");
  readonly #left = h("div.tfp-code-side");
  readonly #tip: TipBox;
  #scale: HeatScale;

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    this.#model = new SourceModel(view);
    this.#model.select(link.selection);
    this.#scale = this.#model.scale([]);
    this.#code = new CodeList(
      {
        onPick: (line) => this.#pick(line),
        onHover: (line, row) => this.#hover(line, line === null ? "" : `Line ${line.line}`, row),
      },
      signal,
    );
    this.#else = new ElseList(
      (row) => this.#pickElse(row),
      (row, element) => this.#hover(row?.heat ?? null, row?.text ?? "", element),
      signal,
    );
    this.#details = new Details(
      (name) => toggleSelection(link, [name]),
      (name) => link.setHover(name),
      signal,
    );
    this.#left.append(this.#head, this.#code.element, this.#else.element);
    this.#tip = createTip(this.#left);
    const split = h(
      "div",
      { class: this.#model.hasSamples ? "tfp-code-split sampled" : "tfp-code-split" },
      this.#left,
      this.#details.element,
    );
    view.root.append(h("div.tfp-fill", this.#toolbar(), split));
    this.#listen();
    this.#compute();
  }

  #listen(): void {
    const { signal, link } = this.view;
    const hover = () => {
      const ops = this.#model.opsNamed(link.hover === "" ? [] : [link.hover]);
      this.#code.setHovered((line) => line.ops.some(({ op }) => ops.has(op)));
    };
    follow(this.view, { compute: () => this.#compute(), select: () => this.#followSelection(true), hover });
    // The names of ops are cut to the width of the pane, which a hidden one has not.
    let width = 0;
    watchSize(
      this.#details.element,
      (now: number) => {
        if (Math.round(now) !== width) this.#followSelection(false);
        width = Math.round(now);
      },
      signal,
    );
    // A list that is hidden cannot be scrolled.
    let isPlaced = false;
    watchSize(
      this.#code.element,
      () => {
        if (!isPlaced) this.#revealHottest();
        isPlaced = true;
        if (link.selection.length > 0) this.#followSelection(true);
      },
      signal,
    );
  }

  #toolbar(): HTMLElement {
    const { signal, data } = this.view;
    on(this.#select, signal, { change: () => this.#open(Number(this.#select.value)) });
    const setWhere = (where: Where) => {
      this.#model.where = where;
      this.#compute();
    };
    return h(
      "div.bar",
      this.#select,
      this.#say,
      h("span.sp"),
      whereSwitch(data.meta.op_device, setWhere, signal),
      button("CSV", () => this.#save(), signal, { title: "Save every line and bucket, with full precision" }),
    );
  }

  #compute(): void {
    this.#model.compute();
    if (this.#model.file < 0) this.#open(this.#model.firstFile);
    else this.#show();
  }

  #open(file: number): void {
    const model = this.#model;
    model.file = file;
    const heat = model.shownFile;
    const source = model.files[file];
    if (source !== undefined) {
      const hot = [...(heat?.lines.keys() ?? []), ...model.shownSamples.keys()];
      this.#code.setCode(model.titleOf(file), codeLines(source, heat), hot);
    }
    this.#show();
    this.#revealHottest();
  }

  #revealHottest(): void {
    const hottest = hottestLine(this.#model.shownFile);
    if (hottest !== undefined) this.#code.reveal(hottest.line);
  }

  #show(): void {
    const model = this.#model;
    const rows = elseRows(model.heat.files, model.heat.buckets, model.file, (file) => model.titleOf(file));
    this.#scale = model.scale([...model.shownLines, ...rows.map((row) => row.heat)]);
    this.#code.setHeat(model.shownFile, this.#scale);
    this.#code.setSamples(model.shownSamples);
    this.#else.show(rows, this.#scale);
    this.#fillHead();
    this.#fillSelect();
    const { data } = this.view;
    const about = ` · ${describeRange(data.meta, data.table("steps"), model.scope)}`;
    const parts = [coverage(model.heat), model.known, model.sumsThreads ? OVER_THREADS : ""];
    const said = parts.filter(Boolean).join(" · ");
    this.#say.replaceChildren(said, h("span.tfp-about", about));
    this.#say.title = this.#say.textContent ?? "";
    this.#followSelection(false);
  }

  #fillHead(): void {
    const { file: path = "", title = "" } = this.#model.files[this.#model.file] ?? {};
    // The path of a cell is a name that only its kernel knows.
    const shown = /^(Cell \[\d+\]|<cell>)$/.test(title) ? title : path;
    const columns = h(
      "span.tfp-gut",
      h("span.tfp-heat", "self time"),
      h("span.v", this.#scale.nSteps === null ? "ms" : "ms a step"),
      h("span.v", "%"),
      this.#model.hasSamples && h("span.v.smp", { title: SAMPLES_TITLE }, "thread %"),
    );
    this.#head.replaceChildren(columns, h("span.path", { title: path }, shown));
  }

  #fillSelect(): void {
    const { heat, files, file: shown } = this.#model;
    const hot = new Set(heat.files.map(({ file }) => file));
    const share = (ps: number) => formatPercent(heat.wholePs > 0 ? ps / heat.wholePs : 0);
    const option = (file: number, note: string) =>
      h("option", { value: file }, `${this.#model.titleOf(file)} · ${note}`);
    const options = heat.files.map(({ file, selfPs }) => option(file, share(selfPs)));
    files.forEach((_, file) => {
      if (!hot.has(file)) options.push(option(file, "no op"));
    });
    this.#select.replaceChildren(...options);
    this.#select.value = String(shown);
  }

  #pick(heat: Heat): void {
    this.view.link.setSelection(this.#model.pick(heat));
    this.#followSelection(false);
  }

  #pickElse({ target }: ElseRow): void {
    if ("file" in target) this.#open(target.file);
    else this.#pick(target.bucket);
  }

  #followSelection(reveal: boolean): void {
    const model = this.#model;
    const { selection } = this.view.link;
    model.select(selection);
    this.#code.setSelected((heat) => model.isSelected(heat), reveal);
    this.#else.setSelected((heat) => model.isSelected(heat));
    this.#details.show(model.chosen, {
      ...model.used,
      scale: this.#scale,
      categoryOf: model.charges.categoryOf,
      isBackward: (op) => model.isBackward(op),
      sideOf: (op) => model.sideOf(op),
      selection,
    });
  }

  #hover(heat: Heat | null, title: string, row: HTMLElement | null): void {
    const box = row?.getBoundingClientRect();
    const gutter = row?.querySelector(".tfp-gut")?.getBoundingClientRect() ?? box;
    const tip = heat && { title, lines: tipLines(heat, this.#scale) };
    // Beside the figures that it is about, not over the code.
    this.#tip.about(tip, box && gutter ? { left: gutter.right + TIP_PX, top: box.top, bottom: box.bottom } : null);
  }

  #save(): void {
    const { heat, files } = this.#model;
    const named = sourceCsv(heat.wholePs, (op) => this.#model.opName(op));
    const columns = this.#scale.nSteps === null ? named : aStep(named);
    const paths = files.map(({ file }) => file);
    download("source_lines.csv", csvOf(columns, sourceRows(heat, paths)), "text/csv");
  }
}

const LINES_OF_PROGRAMS = "Lines are known where the compiled program in the trace names them. This one names none.";
const NO_LINES =
  "A trace file alone does not say which line of code made which op. tfprof notes that while the program runs, in the process that builds the model, and keeps it beside the trace. Profile the run with it:";

function samplesOfAll({ meta }: TraceView["data"]): string {
  return (meta.source_samples ?? []).length > 0 ? "The samples of your thread are of all hosts." : "";
}

function noLines(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  const isOwn = frameworkOf(meta) === "TensorFlow";
  const [why, code] = isOwn ? [NO_LINES, CAPTURE_CODE.TensorFlow] : [LINES_OF_PROGRAMS, ""];
  return emptyState("No source lines in this profile", why, code, signal);
}

export const sourceView: TraceBuilder = {
  name: "source_view",
  build(view) {
    const { data, signal } = view;
    const hasOps = ranOps(data.table);
    const hasLines = (data.meta.source_files ?? []).length > 0;
    if (!hasOps) view.root.append(noOps(data.meta, signal));
    else if (!hasLines) view.root.append(noLines(data.meta, signal));
    else new SourceView(view);
  },
  needs: ["source_files", "source_lines", "source_samples", "op_places", "steps", "step_totals"],
  forRange: ["occurrences"],
  ofHost: { ...OPS_OF_HOST, ofAll: samplesOfAll },
};
