/** The reader's code with its time beside it. */

import { ranOps } from "../../data/hosts";
import type { Link } from "../../data/link";
import { CATEGORY_LABELS, type TraceMeta } from "../../data/meta";
import { cutNames, shortestSuffixes } from "../../model/names";
import { CAPTURE_CODE, frameworkOf } from "../../model/overview";
import { describeRange } from "../../model/range";
import {
  type BucketHeat,
  codeLines,
  coverage,
  type FileHeat,
  type Heat,
  hottestLine,
  type LineHeat,
  type OpCost,
} from "../../model/source";
import { aStep, csvOf, formatAmount, formatPercent, formatTime, plural } from "../../model/text";
import { type Where, whereSwitch } from "../../ui/controls";
import {
  button,
  download,
  emptyState,
  h,
  noOps,
  on,
  onKeys,
  say,
  selectBox,
  setAria,
  textFits,
  watchSize,
} from "../../ui/dom";
import { TipBox } from "../../ui/plot";
import { categorySwatch, legendEntry } from "../../ui/share_bar";
import { OVER_THREADS } from "../../ui/table";
import { follow, type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";
import {
  bucketNote,
  type Chosen,
  costText,
  countText,
  Gutter,
  type HeatScale,
  heatPiece,
  type LineSamples,
  phaseText,
  SourceModel,
  sourceCsv,
  sourceRows,
  tipLines,
} from "./lines";

const MAX_LINES = 4000;
const AROUND = 40;

interface Row {
  readonly element: HTMLElement;
  readonly gutter: Gutter;
  heat: LineHeat | undefined;
}

export class CodeList {
  readonly element = h("div.tfp-code", { role: "group" });
  readonly #rows = new Map<number, Row>();
  /** The line that Tab reaches. */
  #current = -1;

  constructor(
    readonly listeners: { onPick(line: LineHeat): void; onHover(line: LineHeat | null, row: HTMLElement | null): void },
    signal: AbortSignal,
  ) {
    onKeys(this.element, signal, (event) => this.#key(event));
    on(this.element, signal, {
      click: (event) => this.#pick(event.target),
      pointerover: (event) => this.#hover(event.target),
      pointerleave: () => listeners.onHover(null, null),
    });
  }

  setCode(title: string, code: ReadonlyMap<number, string>, hot: Iterable<number>): void {
    this.#rows.clear();
    this.#current = -1;
    this.element.setAttribute("aria-label", `${title}: time of each line`);
    const shown = chooseLines(code, hot);
    const children: HTMLElement[] = [];
    const width = String(Math.max(...shown, 0)).length;
    let before = 0;
    const skip = (next: number) => {
      const words = next - before === 2 ? `line ${before + 1} left out` : `lines ${before + 1} to ${next - 1} left out`;
      children.push(h("div.gap", words));
    };
    for (const line of shown) {
      if (line > before + 1 && (before > 0 || code.has(1))) skip(line);
      const gutter = new Gutter();
      const number = h("span.no", { style: { "min-width": `${Math.max(3, width)}ch` } }, String(line));
      const element = h("div.ln", { "data-line": line }, gutter.element, number, h("span.tx", code.get(line) ?? ""));
      this.#rows.set(line, { element, gutter, heat: undefined });
      children.push(element);
      before = line;
    }
    const last = Math.max(...code.keys());
    if (code.size > 0 && before < last && shown.length < code.size) skip(last + 1);
    this.element.replaceChildren(...children);
  }

  setHeat(heat: FileHeat | undefined, scale: HeatScale): void {
    for (const [line, row] of this.#rows) {
      const now = heat?.lines.get(line);
      if (now === undefined && row.heat === undefined) continue;
      row.heat = now;
      row.gutter.show(now, scale);
      row.element.classList.toggle("hot", now !== undefined);
      if (now === undefined) {
        for (const name of ["role", "tabindex", "aria-pressed", "aria-description"]) row.element.removeAttribute(name);
      } else {
        row.element.setAttribute("role", "button");
        row.element.setAttribute("aria-description", `line ${line}: ${costText(now, scale)}: ${now.code.trim()}`);
      }
    }
    if (this.#rows.get(this.#current)?.heat === undefined) this.#current = hottest(this.#rows);
    this.#roam();
  }

  setSamples(samples: ReadonlyMap<number, LineSamples>): void {
    for (const [line, { gutter }] of this.#rows) gutter.showSamples(samples.get(line));
  }

  /** Marks lines; the first mark that is out of sight is scrolled to when asked. */
  setSelected(isSelected: (heat: LineHeat) => boolean, reveal: boolean): void {
    const marked: number[] = [];
    for (const [line, { element, heat }] of this.#rows) {
      if (heat === undefined) continue;
      const is = isSelected(heat);
      setAria(element, "pressed", is);
      if (is) marked.push(line);
    }
    if (reveal && marked.length > 0 && !marked.some((line) => this.#isInSight(line))) this.reveal(marked[0]);
  }

  setHovered(isHovered: (heat: LineHeat) => boolean): void {
    for (const { element, heat } of this.#rows.values()) {
      if (heat !== undefined) element.classList.toggle("hover", isHovered(heat));
    }
  }

  reveal(line: number): void {
    const row = this.#rows.get(line)?.element;
    if (row === undefined) return;
    const above = row.offsetTop - this.element.offsetTop - this.element.clientHeight / 2 + row.offsetHeight / 2;
    // By whole lines, so that the first one in sight is not cut under the heads.
    const height = Math.max(1, row.offsetHeight);
    this.element.scrollTop = Math.max(0, Math.ceil(above / height) * height);
  }

  #isInSight(line: number): boolean {
    const row = this.#rows.get(line)?.element;
    if (row === undefined) return false;
    const top = row.offsetTop - this.element.offsetTop - this.element.scrollTop;
    return top >= 0 && top + row.offsetHeight <= this.element.clientHeight;
  }

  #rowOf(target: EventTarget | null): Row | undefined {
    const element = target instanceof Element ? target.closest<HTMLElement>(".ln") : null;
    return element === null ? undefined : this.#rows.get(Number(element.dataset.line));
  }

  #pick(target: EventTarget | null): void {
    const row = this.#rowOf(target);
    if (row?.heat === undefined) return;
    this.#current = row.heat.line;
    this.#roam();
    this.listeners.onPick(row.heat);
  }

  #hover(target: EventTarget | null): void {
    // Over the code itself a tooltip would only hide the next lines.
    const isGutter = target instanceof Element && target.closest(".tfp-gut") !== null;
    const row = isGutter ? this.#rowOf(target) : undefined;
    this.listeners.onHover(row?.heat ?? null, row?.element ?? null);
  }

  #roam(): void {
    for (const [line, { element, heat }] of this.#rows) {
      if (heat !== undefined) element.tabIndex = line === this.#current ? 0 : -1;
    }
  }

  #key(event: KeyboardEvent): boolean {
    const row = this.#rowOf(event.target);
    if (row === undefined) return false;
    if (event.key === "Enter" || event.key === " ") this.#pick(event.target);
    else {
      const hot = [...this.#rows].filter(([, { heat }]) => heat !== undefined).map(([line]) => line);
      const at = hot.indexOf(this.#current);
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: hot.length - 1 }[event.key];
      if (next === undefined) return false;
      this.#current = hot[Math.max(0, Math.min(hot.length - 1, next))];
      this.#roam();
      this.#rows.get(this.#current)?.element.focus();
    }
    return true;
  }
}

function hottest(rows: ReadonlyMap<number, Row>): number {
  let [line, most] = [-1, -1];
  for (const [number, { heat }] of rows) if (heat && heat.selfPs > most) [line, most] = [number, heat.selfPs];
  return line;
}

function chooseLines(code: ReadonlyMap<number, string>, hot: Iterable<number>): number[] {
  const all = [...code.keys()].sort((a, b) => a - b);
  if (all.length <= MAX_LINES) return all;
  const near = [...hot].sort((a, b) => a - b);
  let k = 0;
  return all.filter((line) => {
    while (k < near.length && near[k] + AROUND < line) k += 1;
    return k < near.length && near[k] - AROUND <= line;
  });
}

interface ElseRow {
  readonly heat: Heat;
  readonly text: string;
  readonly note: string;
  /** A file to open, or a bucket whose ops are picked. */
  readonly target: { readonly file: number } | { readonly bucket: BucketHeat };
}

function fileTotal(file: FileHeat): Heat {
  const lines = [...file.lines.values()];
  const sum = (value: (heat: Heat) => number) => lines.reduce((total, line) => total + value(line), 0);
  const parts = new Map<string, { category: string; isBackward: boolean; ps: number }>();
  for (const { category, isBackward, ps } of lines.flatMap((line) => line.parts)) {
    const key = `${category} ${isBackward}`;
    parts.set(key, { category, isBackward, ps: (parts.get(key)?.ps ?? 0) + ps });
  }
  return {
    entries: lines.flatMap((line) => line.entries),
    selfPs: file.selfPs,
    forwardPs: sum((heat) => heat.forwardPs),
    backwardPs: sum((heat) => heat.backwardPs),
    otherPs: sum((heat) => heat.otherPs),
    occurrences: sum((heat) => heat.occurrences),
    parts: [...parts.values()],
    ops: lines.flatMap((line) => line.ops).sort((a, b) => b.ps - a.ps),
  };
}

class ElseList {
  readonly element = h("div.tfp-else", { role: "group", "aria-label": "Other files, and time without a line" });
  #rows: readonly { element: HTMLButtonElement; row: ElseRow }[] = [];

  constructor(
    onPick: (row: ElseRow) => void,
    onHover: (row: ElseRow | null, element: HTMLElement | null) => void,
    signal: AbortSignal,
  ) {
    const hover = (target: EventTarget | null) => {
      const found = this.#rowOf(target);
      onHover(found?.row ?? null, found?.element ?? null);
    };
    on(this.element, signal, {
      click: (event) => {
        const found = this.#rowOf(event.target);
        if (found !== undefined) onPick(found.row);
      },
      pointerover: (event) => hover(event.target),
      pointerleave: () => hover(null),
    });
  }

  #rowOf(target: EventTarget | null) {
    const element = target instanceof Element ? target.closest("button") : null;
    return this.#rows.find((one) => one.element === element);
  }

  show(rows: readonly ElseRow[], scale: HeatScale): void {
    const focused = this.#rows.findIndex(({ element }) => element === document.activeElement);
    const key = this.#rows[focused]?.row.text;
    this.#rows = rows.map((row) => {
      const gutter = new Gutter();
      gutter.show(row.heat, scale);
      const what = "bucket" in row.target ? bucketNote(row.target.bucket.bucket) : "";
      const label = `${row.text}: ${costText(row.heat, scale)}`;
      const attributes = { type: "button", "aria-description": what ? `${label}. ${what}` : label };
      const name = h("span", { class: "file" in row.target ? "tx file" : "tx" }, row.text);
      const element = h("button.ln.hot.bare", attributes, gutter.element, name, h("span.q", row.note));
      return { element, row };
    });
    this.element.replaceChildren(...this.#rows.map(({ element }) => element));
    if (key !== undefined) this.#rows.find(({ row }) => row.text === key)?.element.focus();
  }

  setSelected(isSelected: (heat: Heat) => boolean): void {
    for (const { element, row } of this.#rows) setAria(element, "pressed", isSelected(row.heat));
  }
}

function elseRows(
  files: readonly FileHeat[],
  buckets: readonly BucketHeat[],
  shown: number,
  titleOf: (file: number) => string,
): ElseRow[] {
  const rows: ElseRow[] = files
    .filter(({ file }) => file !== shown)
    .map((heat) => {
      const { file, lines } = heat;
      return { heat: fileTotal(heat), text: titleOf(file), note: plural(lines.size, "line"), target: { file } };
    });
  for (const bucket of buckets)
    rows.push({ heat: bucket, text: bucket.bucket, note: plural(bucket.ops.length, "op"), target: { bucket } });
  return rows.sort((a, b) => b.heat.selfPs - a.heat.selfPs);
}

const N_OPS = 8;
/** The call of the function that is the whole step: every op is in it. */
const WRAPPER = /^StatefulPartitionedCall(_\d+)?\//;
/** What the style sheet leaves beside the names of ops; a narrow pane has no column of counts. */
const WIDE_PX = 240;
const PADDING_PX = 14;
const COLUMNS_PX = 150;
const NARROW_COLUMNS_PX = 98;

interface DetailsLook {
  readonly scale: HeatScale;
  readonly categoryOf: (op: number) => string;
  readonly isBackward: (op: number) => boolean;
  readonly sideOf: (op: number) => "host" | "device";
  readonly categories: readonly string[];
  readonly hasBackward: boolean;
  readonly selection: readonly string[];
}

class Details {
  readonly element = h("aside.tfp-line-details", { tabindex: 0, "aria-label": "The chosen line" });

  constructor(
    readonly link: Link,
    readonly signal: AbortSignal,
  ) {}

  show(chosen: Chosen | undefined, look: DetailsLook): void {
    this.element.replaceChildren(...(chosen === undefined ? [] : this.#about(chosen, look)), legend(look));
  }

  #about({ title, heat, note }: Chosen, look: DetailsLook): HTMLElement[] {
    const { scale } = look;
    const parts: HTMLElement[] = [
      h("h3", `${title}: ${costText(heat, scale)}`),
      h("p.q", phaseText(heat)),
      h("p.q", countText(heat, scale)),
    ];
    if (note !== "") parts.push(h("p.q", note));
    const rows = heat.ops.slice(0, N_OPS);
    const names = labels(rows.map(({ op }) => scale.opName(op)));
    const width = this.element.clientWidth || WIDE_PX;
    const room = width - PADDING_PX - (width < WIDE_PX ? NARROW_COLUMNS_PX : COLUMNS_PX);
    const cuts = cutNames(names, textFits(this.element, room));
    const items = rows.map((cost, i) => this.#op(cost, cuts.get(names[i]) ?? names[i], rows[0].ps, look));
    const list = h("ul.tfp-line-ops", ...items.map((item) => h("li", item)));
    const rest = heat.ops.slice(N_OPS);
    const restPs = rest.reduce((sum, { ps }) => sum + ps, 0);
    if (rest.length > 0) list.append(h("li.q", `${plural(rest.length, "op")} more · ${formatTime(restPs)}`));
    parts.push(h("p.head", "Ops, most self time first"), list);
    return parts;
  }

  #op({ op, ps, occurrences }: OpCost, text: string, mostPs: number, look: DetailsLook): HTMLElement {
    const { scale, categoryOf, isBackward, sideOf, selection } = look;
    const name = scale.opName(op);
    const bar = heatPiece(categoryOf(op), isBackward(op), mostPs > 0 ? ps / mostPs : 0);
    const each = scale.nSteps === null ? "" : " a step";
    const title = `${name}\n${plural(occurrences, "run")}${each} on the ${sideOf(op)}, ${formatTime(ps)}${each}`;
    const pressed = String(selection.length === 1 && selection[0] === name);
    const attributes = { title, "data-op-name": name, "aria-pressed": pressed, class: "bare" };
    const count = h("span.q.n.opt", `× ${formatAmount(occurrences)}`);
    const cells = [h("span.name.cut", text), count, h("span.bx", bar), h("span.v", formatTime(ps))];
    const pick = () => toggleSelection(this.link, [name]);
    const element = button("", pick, this.signal, attributes, ...cells);
    const pointerenter = () => this.link.setHover(name);
    on(element, this.signal, { pointerenter, pointerleave: () => this.link.setHover("") });
    return element;
  }
}

/** Last parts of the ops' paths, as many as tell them apart; of an iterator its own name. */
function labels(names: readonly string[]): string[] {
  const parts = names.map((name) => name.replace(WRAPPER, "").split(name.startsWith("Iterator::") ? "::" : "/"));
  return shortestSuffixes(parts, "/");
}

function legend({ categories, hasBackward }: DetailsLook): HTMLElement {
  const keys = categories.map((category) =>
    legendEntry(categorySwatch(category), (CATEGORY_LABELS[category] ?? category).toLowerCase()),
  );
  if (hasBackward) keys.push(legendEntry(h("i.sw.bw", { style: "--c:var(--ink-2)" }), "backward"));
  return h("div.tfp-line-legend", ...keys);
}

const SAMPLES_TITLE =
  "Of the whole capture: the share of time that your thread spent at the line, Python and waiting included, by samples";
const TIP_PX = 30;

class SourceView {
  readonly #model: SourceModel;
  readonly #code: CodeList;
  readonly #else: ElseList;
  readonly #details: Details;
  readonly #say = h("span.tfp-say.q", { role: "status" });
  readonly #select: HTMLSelectElement;
  readonly #head = h("div.tfp-code-head");
  readonly #left = h("div.tfp-code-side");
  readonly #tip: TipBox;
  #scale: HeatScale;

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    this.#select = selectBox("File or cell", signal, (file) => this.#open(Number(file)));
    this.#model = new SourceModel(view);
    this.#model.select(link.selection);
    this.#scale = this.#model.scale([]);
    const onHover = (line: LineHeat | null, row: HTMLElement | null) =>
      this.#hover(line, line === null ? "" : `Line ${line.line}`, row);
    this.#code = new CodeList({ onPick: (line) => this.#pick(line), onHover }, signal);
    const onElse = (row: ElseRow | null, element: HTMLElement | null) =>
      this.#hover(row?.heat ?? null, row?.text ?? "", element);
    this.#else = new ElseList((row) => this.#pickElse(row), onElse, signal);
    this.#details = new Details(link, signal);
    this.#left.append(this.#head, this.#code.element, this.#else.element);
    this.#tip = new TipBox(this.#left);
    const look = this.#model.hasSamples ? "div.tfp-code-split.sampled" : "div.tfp-code-split";
    view.root.append(h("div.tfp-fill", this.#toolbar(), h(look, this.#left, this.#details.element)));
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
    watchSize(this.#details.element, signal, (now) => {
      if (Math.round(now) !== width) this.#followSelection(false);
      width = Math.round(now);
    });
    // A list that is hidden cannot be scrolled.
    let isPlaced = false;
    watchSize(this.#code.element, signal, () => {
      if (!isPlaced) this.#revealHottest();
      isPlaced = true;
      if (link.selection.length > 0) this.#followSelection(true);
    });
  }

  #toolbar(): HTMLElement {
    const { signal, data } = this.view;
    const setWhere = (where: Where) => {
      this.#model.where = where;
      this.#compute();
    };
    const save = button("CSV", () => this.#save(), signal, {
      title: "Save every line and bucket, with full precision",
    });
    const where = whereSwitch(data.meta.op_device, setWhere, signal);
    return h("div.bar", this.#select, this.#say, h("span.sp"), where, save);
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
    say(this.#say, parts.filter(Boolean).join(" · "), h("span.tfp-about", about));
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
    const others = files.flatMap((_, file) => (hot.has(file) ? [] : [option(file, "no op")]));
    this.#select.replaceChildren(...options, ...others);
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
      sideOf: model.sideOf,
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
    const named = sourceCsv(heat.wholePs, this.#model.opName);
    const columns = this.#scale.nSteps === null ? named : aStep(named);
    const paths = files.map(({ file }) => file);
    download("source_lines.csv", csvOf(columns, sourceRows(heat, paths)), "text/csv");
  }
}

const LINES_OF_PROGRAMS = "Lines are known where the compiled program in the trace names them. This one names none.";
const NO_LINES =
  "A trace file alone does not say which line of code made which op. tfprof notes that while the program runs, in the process that builds the model, and keeps it beside the trace. Profile the run with it:";

function noLines(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  const isOwn = frameworkOf(meta) === "TensorFlow";
  const [why, code] = isOwn ? [NO_LINES, CAPTURE_CODE.TensorFlow] : [LINES_OF_PROGRAMS, ""];
  return emptyState("No source lines in this profile", why, code, signal);
}

export const sourceView: TraceBuilder = {
  name: "source_view",
  build(view) {
    const { data, signal, root } = view;
    if (!ranOps(data.table)) root.append(noOps(data.meta, signal));
    else if (!data.meta.source_files?.length) root.append(noLines(data.meta, signal));
    else new SourceView(view);
  },
  needs: ["source_files", "source_lines", "source_samples", "op_places", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "ops",
};
