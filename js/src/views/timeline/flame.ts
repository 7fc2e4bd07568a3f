/** What a span consists of: its flame on a canvas with keys and pointer, and the table of its slices by name. */

import type { Span } from "../../data/columns";
import { FAMILIES, type LineMeta } from "../../data/meta";
import { LabelCache } from "../../draw/frame";
import {
  type Aggregate,
  type Flame,
  FlameBuilder,
  type FlameRect,
  finishFlame,
  layoutFlame,
  type NameTotals,
  pathTo,
  ROOT,
} from "../../model/aggregate";
import type { Palette } from "../../model/colors";
import { readableKernels } from "../../model/names";
import { neighbourOf } from "../../model/scopes";
import { formatCount, formatPercent, formatTime, plural } from "../../model/text";
import {
  button,
  h,
  hasModifier,
  on,
  onKeys,
  readPalette,
  say,
  segmented,
  setAria,
  sized,
  unspoken,
  watchSize,
} from "../../ui/dom";
import { TipBox } from "../../ui/plot";
import type { GridColumn } from "../../ui/sheet";
import { type Field, LinkedTable, numberColumn } from "../../ui/table";
import type { TraceView } from "../../ui/view";
import type { TimelineState } from "./state";

const SWATCH_PX = 14;
/** With the return type that kernels have: other C++ names are short, and their classes tell. */
const SIGNATURE = /^(?:static |inline |__global__ )*void /;
/** During a drag the table is filled no more often than this, and less often where it has very many rows. */
const PACE_MS = 120;
const ROWS_PER_MS = 20;

export class SlicesPane {
  readonly element = h("div.tl-pane.tl-slices");
  readonly #status = h("span.q", { role: "status" });
  readonly #job: SpanJob<Aggregate>;
  readonly #aggregate: Aggregate;
  readonly #table: LinkedTable<NameTotals>;
  /** Readable names of kernels by signature, of as many names as were here. */
  #kernels: { readonly n: number; readonly names: ReadonlyMap<string, string> } = { n: 0, names: new Map() };
  #rows: readonly NameTotals[] = [];
  #span: Span = { t0: 0, t1: 0 };
  #shownAt = Number.NEGATIVE_INFINITY;
  #isStale = false;

  constructor(
    readonly view: TraceView,
    readonly state: TimelineState,
  ) {
    this.#aggregate = state.finding.newAggregate();
    const begin = (span: Span) => {
      this.#aggregate.start(span);
      return this.#aggregate;
    };
    this.#job = new SpanJob(begin, (aggregate) => this.#finish(aggregate));
    this.#table = this.#build();
    this.#show();
  }

  focus() {
    this.element.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
  }

  forgetColors() {}

  update(): boolean {
    const { state } = this;
    const span = state.range ?? state.view;
    const isMore = this.#job.update(span, "", state.events.generation);
    if (this.#job.running && this.#aggregate.progress < 1) this.#say(span);
    const pace = Math.max(PACE_MS, this.#rows.length / ROWS_PER_MS);
    if (this.#isStale && performance.now() - this.#shownAt > pace) this.#show();
    return isMore || this.#isStale;
  }

  #finish(aggregate: Aggregate) {
    this.#rows = this.state.events.hasAll(aggregate.span) ? aggregate.rows() : [];
    this.#span = aggregate.span;
    this.#isStale = true;
  }

  #show() {
    this.#isStale = false;
    this.#shownAt = performance.now();
    this.#table.compute();
    this.#say(this.#span);
  }

  #say(span: Span) {
    const { progress } = this.#aggregate;
    const parts: string[] = [this.state.aboutSpan(span)];
    if (progress < 1) parts.push(`adding up ${formatPercent(progress)}`);
    const text = parts.join(" · ");
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  #pick({ name, longest }: NameTotals) {
    const { state } = this;
    if (longest < 0) return;
    state.select(longest);
    state.showSpan({ t0: state.events.start[longest], t1: state.events.endOf(longest) });
    state.scrollToTrack(longest);
    state.finding.onName(name);
  }

  /** What a name is called where there is little room: signatures of kernels differ only far inside. */
  #labelOf(name: string): string {
    if (!SIGNATURE.test(name)) return name;
    const { names } = this.state.meta;
    if (this.#kernels.n !== names.length) {
      this.#kernels = { n: names.length, names: readableKernels(names.filter((one) => SIGNATURE.test(one))) };
    }
    return this.#kernels.names.get(name) ?? name;
  }

  #build(): LinkedTable<NameTotals> {
    const { state, view } = this;
    const { meta, events } = state;
    const nameOf = (row: NameTotals) => meta.names[row.name];
    const labelOf = (row: NameTotals) => this.#labelOf(nameOf(row));
    return new LinkedTable<NameTotals>(
      { ...view, root: this.element },
      {
        label: "Slices by name",
        filterLabel: "Filter slices by name",
        noun: () => "names",
        weightNoun: "self time",
        weight: ({ selfPs }) => selfPs,
        columns: columns(state, labelOf),
        sortBy: "total",
        key: ({ name }) => String(name),
        attributes: (row) => ({ title: nameOf(row), "data-name": nameOf(row) }),
        rows: () => this.#rows,
        texts: (row) => [nameOf(row), labelOf(row)],
        opsOf: ({ longest }) => (longest < 0 ? [] : [meta.names[events.keyOf(longest)]]),
        onPick: (row) => this.#pick(row),
        whyEmpty: () => "No slice lies here. Move the window or drag over the ruler to choose another range.",
        csv: {
          file: "slices.csv",
          columns: {
            name: nameOf,
            count: (row) => row.count,
            total_us: (row) => row.totalPs / 1e6,
            self_us: (row) => row.selfPs / 1e6,
            mean_us: (row) => row.meanPs / 1e6,
            min_us: (row) => row.minPs / 1e6,
            max_us: (row) => row.maxPs / 1e6,
          },
        },
        about: () => "",
        controls: [this.#status],
      },
    );
  }
}

function columns(state: TimelineState, label: (row: NameTotals) => string): GridColumn<NameTotals>[] {
  const time = (id: string, title: string, tip: string, value: Field<NameTotals, number>, isOptional = false) =>
    numberColumn({ id, title, tip, width: 76, narrowWidth: 66, isOptional }, value, formatTime);
  const tip = "Slices of which any part lies in the span";
  const count = { id: "count", title: "Count", tip, width: 66, narrowWidth: 58, isOptional: false };
  return [
    {
      id: "name",
      title: "Slice",
      tip: "By name, over all threads and streams; lines that repeat the work of others are left out",
      value: ({ name }) => state.meta.names[name],
      names: label,
      leadPx: SWATCH_PX,
      cell: (row, { cut }) => {
        const family = FAMILIES[state.family[row.name]] ?? "runtime";
        const swatch = h("i", { style: `background:var(--s-${family});border-color:var(--e-${family})` });
        return h("span.tl-name", { title: state.meta.names[row.name] }, swatch, cut(label(row)));
      },
    },
    numberColumn(count, "count", formatCount),
    time("total", "Total", "Time of the parts that lie in the span", "totalPs"),
    time("self", "Self", "Of it, time in none of the slices inside", "selfPs"),
    time("mean", "Mean", "Of the slices as a whole, though the span cuts some", "meanPs"),
    time("min", "Min", "Of the shortest slice, as a whole", "minPs", true),
    time("max", "Max", "Of the longest slice, as a whole", "maxPs"),
  ];
}

interface Job {
  /** Goes on until it is done or `isOver` says stop; whether it is done. */
  step(isOver: () => boolean): boolean;
}

const STEP_MS = 6;
/** While events arrive, the work begins again no more often than this. */
const ARRIVAL_MS = 500;

/** Work on a span that may change with every frame of a drag: one job at a time, the latest span next. */
class SpanJob<J extends Job> {
  /** The job that runs, null when the last one is done. */
  running: J | null = null;
  #key = "";
  #generation = -1;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly begin: (span: Span) => J,
    readonly onDone: (job: J) => void,
  ) {}

  /** A part of a frame for the span; whether there is more to do. `what`: what else the work depends on. */
  update(span: Span, what: string, generation: number): boolean {
    const key = `${span.t0}|${span.t1}|${what}`;
    const now = performance.now();
    if (!this.running && (key !== this.#key || generation !== this.#generation)) {
      if (key === this.#key && now - this.#startedAt < ARRIVAL_MS) return true;
      this.#key = key;
      this.#generation = generation;
      this.#startedAt = now;
      this.running = this.begin(span);
    }
    if (!this.running) return false;
    const job = this.running;
    if (!job.step(() => performance.now() - now > STEP_MS)) return true;
    this.running = null;
    this.onDone(job);
    return key !== this.#key;
  }
}

const BY = [
  { value: "thread", text: "By thread" },
  { value: "all", text: "Threads together" },
] as const;

export class FlamePane {
  readonly element: HTMLElement;
  readonly #status = h("span.q", { role: "status" });
  readonly #base: HTMLButtonElement;
  readonly #canvas = unspoken("canvas");
  readonly #sheet = h("div.tl-sheet");
  readonly #live = h("div.sr", { "aria-live": "polite" });
  readonly #box = h("div.tl-flame", {
    role: "application",
    tabindex: 0,
    "aria-label": "Flame: arrow keys walk, Enter zooms in, Backspace zooms out",
  });
  readonly #tip: TipBox;
  readonly #model: FlameModel;
  readonly #labels: LabelCache;
  #palette: Palette | null = null;
  #labelsOf = -1;
  #hover = -1;
  #width = 0;

  constructor(
    readonly root: HTMLElement,
    readonly state: TimelineState,
  ) {
    const { signal } = state;
    this.#labels = new LabelCache(state.meta.names);
    this.#model = new FlameModel(state, () => this.#onRects());
    const about = { "aria-pressed": "false", title: "Only what lies in slices of the selected name" };
    this.#base = button("Selected name only", () => this.#flipBase(), signal, about);
    const by = segmented<By>("Merge slices", BY, "thread", (value) => this.#setBy(value), signal);
    const whole = { class: "tl-out", title: "Show the whole flame" };
    const out = button("Zoom out", () => this.#zoomTo(ROOT), signal, whole);
    const bar = h("div.bar", by, this.#base, out, h("span.sp"), this.#status);
    this.#box.append(this.#sheet, this.#canvas);
    const place = h("div.tl-flamebox", this.#box);
    this.#tip = new TipBox(place);
    this.element = h("div.tl-pane", bar, place, this.#live);
    watchSize(this.#box, signal, (width) => {
      this.#width = Math.floor(width);
      this.#model.setWidth(this.#width);
      state.invalidate();
    });
    on(this.#box, signal, {
      scroll: () => state.invalidate(),
      pointermove: (event) => this.#point(event),
      pointerleave: () => this.#unpoint(),
      click: (event) => this.#pick(this.#indexAt(event)),
    });
    onKeys(this.#box, signal, (event) => this.#onKey(event));
    // A canvas has no elements to find.
    Object.assign(root, { tfprofFlame: () => this.#drawn() });
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  forgetColors() {
    this.#palette = null;
    this.#labels.clear();
  }

  /** A part of a frame; whether there is more to do. */
  update(): boolean {
    const { state } = this;
    const span = state.range ?? state.view;
    const isMore = this.#model.update(span);
    this.#base.disabled = this.#model.base < 0 && state.focus < 0;
    this.#say(span);
    this.#paint();
    return isMore;
  }

  #onRects() {
    this.#hover = -1;
    this.#tip.hide();
    const levels = this.#model.rects.reduce((most, { level }) => Math.max(most, level + 1), 0);
    this.#sheet.style.height = `${levels * FLAME_ROW_PX}px`;
    this.element.classList.toggle("zoomed", this.#model.isZoomed);
    this.state.invalidate();
  }

  #setBy(by: By) {
    this.#model.setBy(by);
    this.state.invalidate();
  }

  #flipBase() {
    const { focus, events } = this.state;
    this.#model.setBase(this.#model.base >= 0 || focus < 0 ? -1 : events.name[focus]);
    setAria(this.#base, "pressed", this.#model.base >= 0);
    this.state.invalidate();
  }

  #zoomTo(node: number) {
    this.#model.zoomTo(node);
    this.#box.scrollTop = 0;
  }

  #pick(index: number) {
    const { rects, flame } = this.#model;
    const rect = rects[index];
    if (!rect || !flame) return;
    this.#model.cursor = index;
    const longest = rect.nRest > 0 ? -1 : flame.tree.longest[rect.node];
    if (longest >= 0) this.state.select(longest);
    this.#zoomTo(rect.node);
  }

  #indexAt(event: MouseEvent): number {
    const { left, top } = this.#box.getBoundingClientRect();
    const y = event.clientY - top + this.#box.scrollTop;
    return flameRectAt(this.#model.rects, this.#width, event.clientX - left, y);
  }

  #point(event: PointerEvent) {
    const { rects, flame } = this.#model;
    const index = this.#indexAt(event);
    const rect = rects[index];
    if (index !== this.#hover) this.state.invalidate();
    this.#hover = index;
    const box = this.#box.getBoundingClientRect();
    if (!rect || !flame) this.#tip.hide();
    else {
      this.#tip.say({ title: this.#model.nameOf(rect), lines: [flameFigures(flame, rect).join(" · ")] });
      this.#tip.follow(event.clientX - box.left, event.clientY - box.top, box);
    }
  }

  #unpoint() {
    this.#hover = -1;
    this.#tip.hide();
    this.state.invalidate();
  }

  #onKey(event: KeyboardEvent): boolean {
    if (hasModifier(event)) return false;
    const isOut = event.key === "Backspace" || (event.key === "Escape" && this.#model.isZoomed);
    if (event.key.startsWith("Arrow") && !event.shiftKey) this.#walk(event.key);
    else if (event.key === "Enter" || event.key === " ") this.#pick(Math.max(0, this.#model.cursor));
    else if (isOut) this.#model.zoomOut();
    else return false;
    return true;
  }

  #walk(key: string) {
    const model = this.#model;
    model.cursor = neighbourOf(model.rects, model.cursor, key) ?? 0;
    const rect = model.rects[model.cursor];
    if (!rect || !model.flame) return;
    const y = rect.level * FLAME_ROW_PX;
    const { scrollTop, clientHeight } = this.#box;
    if (y < scrollTop) this.#box.scrollTop = y;
    else if (y + FLAME_ROW_PX > scrollTop + clientHeight) this.#box.scrollTop = y + FLAME_ROW_PX - clientHeight;
    this.#live.textContent = `${model.nameOf(rect)}, ${flameFigures(model.flame, rect).join(" · ")}`;
    this.state.invalidate();
  }

  #say(span: Span) {
    const { flame, rects, progress } = this.#model;
    const parts = [this.state.aboutSpan(span)];
    if (progress !== null && progress > 0) parts.push(`adding up ${formatPercent(progress)}`);
    else if (flame && rects.length > 0) {
      parts.push(`${plural(flame.tree.count[ROOT], "slice")}, ${formatTime(flame.tree.total[ROOT])} in all`);
    } else if (flame) parts.push("no slice in it");
    const text = parts.join(" · ");
    if (this.#status.textContent !== text) say(this.#status, text);
  }

  #paint() {
    const { state } = this;
    const model = this.#model;
    const height = this.#box.clientHeight;
    const ctx = this.#width === 0 || height === 0 ? null : sized(this.#canvas, this.#width, height, false);
    if (!ctx) return;
    Object.assign(this.#canvas.style, { width: `${this.#width}px`, height: `${height}px` });
    this.#refreshLabels();
    this.#palette ??= readPalette(this.root);
    const found = state.foundIds.length > 0 ? new Set(state.foundIds) : null;
    drawFlame({
      ...{ ctx, palette: this.#palette, width: this.#width, height, scrollTop: this.#box.scrollTop },
      ...{ rects: model.rects, hover: this.#hover, cursor: model.cursor },
      ...this.#colors(this.#palette),
      textOf: (rect, px) => this.#textOf(ctx, rect, px),
      figureOf: (rect) => formatTime(rect.ps),
      isDim: (rect) => found !== null && !found.has(model.labelOf(rect)),
    });
  }

  /** As the tracks are coloured; a flame is of many steps, so not by those. */
  #colors(palette: Palette): Pick<FlamePicture, "fills" | "edges" | "colorOf"> {
    const { board, events, family, meta } = this.state;
    const model = this.#model;
    const scheme = board.colors(family);
    if (scheme.by !== "category") {
      const colorOf = (rect: FlameRect) => (model.labelOf(rect) < 0 ? -1 : family[model.labelOf(rect)]);
      return { fills: palette.fills, edges: palette.edges, colorOf };
    }
    const isDevice = (position: number) => meta.planes[meta.lines[events.lineOf(position)].plane].kind === "device";
    const colorOf = (rect: FlameRect) => {
      const longest = model.labelOf(rect) < 0 ? -1 : (model.flame?.tree.longest[rect.node] ?? -1);
      return longest < 0 ? -1 : scheme.of(longest, isDevice(longest));
    };
    const colorsOf = (of: readonly string[]) => scheme.source.map((id) => of[id]);
    return { fills: colorsOf(palette.categoryFills), edges: colorsOf(palette.categories), colorOf };
  }

  #refreshLabels() {
    const { namesGeneration } = this.state.trace.data;
    if (this.#labelsOf !== namesGeneration) this.#labels.clear();
    this.#labelsOf = namesGeneration;
  }

  #textOf(ctx: CanvasRenderingContext2D, rect: FlameRect, px: number): string {
    const label = this.#model.labelOf(rect);
    if (label >= 0) return this.#labels.fit(ctx, label, px);
    const text = this.#model.nameOf(rect);
    return ctx.measureText(text).width <= px ? text : "";
  }

  /** For tests: what is drawn where, in client coordinates. */
  #drawn(): { name: string; x: number; y: number; ps: number }[] {
    const { left, top } = this.#box.getBoundingClientRect();
    return this.#model.rects.map((rect) => ({
      name: this.#model.nameOf(rect),
      x: left + ((rect.x0 + rect.x1) / 2) * this.#width,
      y: top + (rect.level + 0.5) * FLAME_ROW_PX - this.#box.scrollTop,
      ps: rect.ps,
    }));
  }
}

type By = "thread" | "all";

const LEAST_PX = 1.5;

class FlameModel {
  flame: Flame | null = null;
  rects: readonly FlameRect[] = [];
  /** Index of the rectangle of the keyboard, -1 for none. */
  cursor = -1;
  /** Name id whose slices are the bottom, -1 for everything. */
  base = -1;
  #by: By = "thread";
  /** Labels of the nodes that lead to the zoomed one, so that it is found again in the next flame. */
  #zoom: readonly number[] = [];
  #groups: readonly string[] = [];
  #width = 0;
  readonly #job: SpanJob<FlameBuilder>;

  constructor(
    readonly state: TimelineState,
    readonly onRects: () => void,
  ) {
    const begin = (span: Span) => this.#begin(span);
    this.#job = new SpanJob(begin, (builder) => this.#finish(builder));
  }

  /** A part of a frame; whether there is more to do. */
  update(span: Span): boolean {
    return this.#job.update(span, `${this.#by}|${this.base}`, this.state.events.generation);
  }

  /** Share of the next flame that is done; null while none is made. */
  get progress(): number | null {
    return this.#job.running?.progress ?? null;
  }
  get isZoomed(): boolean {
    return this.#zoom.length > 0;
  }

  #begin(span: Span): FlameBuilder {
    const { meta, events } = this.state;
    const isThread = this.#by === "thread";
    this.#groups = isThread ? this.#threadNames() : meta.planes.map((_, plane) => this.#planeName(plane));
    const groupOf = (line: number) => (meta.lines[line].is_derived ? -1 : isThread ? line : meta.lines[line].plane);
    const { base } = this;
    const isBase = base < 0 ? undefined : (position: number) => events.name[position] === base;
    return new FlameBuilder(events, span, { groupOf, isBase });
  }

  #threadNames(): string[] {
    const { meta, lineNames } = this.state;
    const isHost = (plane: number) => meta.planes[plane].kind === "host";
    const nameOf = ({ plane }: LineMeta, id: number) =>
      isHost(plane) ? lineNames[id] : `${this.#planeName(plane)} ${lineNames[id]}`;
    return meta.lines.map(nameOf);
  }

  #planeName(plane: number): string {
    const { planes } = this.state.meta;
    const hasSeveral = planes.some(({ host }) => host !== planes[0].host);
    return hasSeveral ? `${planes[plane].host}${planes[plane].name}` : planes[plane].name;
  }

  #finish(builder: FlameBuilder) {
    this.flame = this.state.events.hasAll(builder.span) ? finishFlame(builder.tree) : null;
    if (this.flame) this.layout();
    else {
      this.rects = [];
      this.cursor = -1;
      this.onRects();
    }
  }

  setWidth(width: number) {
    this.#width = width;
    this.layout();
  }

  layout() {
    const { flame } = this;
    if (!flame || this.#width === 0) return;
    const at = this.rects[this.cursor];
    this.rects = layoutFlame(flame, this.#zoomed(flame), LEAST_PX / this.#width);
    const isAt = ({ node, nRest }: FlameRect) => node === at?.node && nRest > 0 === at.nRest > 0;
    this.cursor = at ? this.rects.findIndex(isAt) : -1;
    this.onRects();
  }

  /** The zoomed node in this flame; as far as the path leads. */
  #zoomed({ tree, offset, children }: Flame): number {
    let node = ROOT;
    for (const label of this.#zoom) {
      const next = children.subarray(offset[node], offset[node + 1]).find((child) => tree.label[child] === label);
      if (next === undefined) break;
      node = next;
    }
    return node;
  }

  setBy(by: By) {
    this.#by = by;
    this.#zoom = [];
  }

  setBase(name: number) {
    this.base = name;
    this.#zoom = [];
  }

  zoomTo(node: number) {
    const { flame } = this;
    this.#zoom = flame ? pathTo(flame.tree, node).map((at) => flame.tree.label[at]) : [];
    this.layout();
  }

  zoomOut() {
    this.#zoom = this.#zoom.slice(0, -1);
    this.layout();
  }

  /** Name id of a rectangle, negative for what is no slice. */
  labelOf({ node, nRest }: FlameRect): number {
    return nRest > 0 ? -1 : (this.flame?.tree.label[node] ?? -1);
  }

  nameOf({ node, nRest }: FlameRect): string {
    if (nRest > 0) return `${formatCount(nRest)} smaller`;
    const { names } = this.state.meta;
    if (node === ROOT) return this.base >= 0 ? `Inside ${names[this.base]}` : "All threads and streams";
    const label = this.flame?.tree.label[node] ?? -1;
    return label >= 0 ? names[label] : (this.#groups[-2 - label] ?? "");
  }
}

/** Total, self, how many, share of what is around it and of the whole. */
function flameFigures({ tree, self }: Flame, { node, nRest, ps }: FlameRect): string[] {
  const whole = tree.total[ROOT];
  const parent = nRest > 0 ? node : tree.parent[node];
  const parts = [formatTime(ps)];
  if (nRest === 0) parts.push(`self ${formatTime(self[node])}`, `${formatCount(tree.count[node])} ×`);
  if (nRest === 0 && tree.label[node] >= 0 && tree.count[node] > 1)
    parts.push(`mean ${formatTime(ps / tree.count[node])}`);
  if (parent > ROOT) parts.push(`${formatPercent(ps / tree.total[parent])} of what is around it`);
  if (node !== ROOT || nRest > 0) parts.push(`${formatPercent(ps / whole)} of all`);
  return parts;
}

const FLAME_ROW_PX = 18;
const BOX_PX = FLAME_ROW_PX - 1;
const TEXT_MIN_PX = 26;
const FILL_MIN_PX = 3;
const PADDING_PX = 4;
const DIM_ALPHA = 0.4;

interface FlamePicture extends Readonly<Record<"width" | "height" | "scrollTop" | "cursor", number>> {
  readonly ctx: CanvasRenderingContext2D;
  readonly palette: Palette;
  readonly rects: readonly FlameRect[];
  readonly fills: readonly string[];
  readonly edges: readonly string[];
  /** Index into `fills` and `edges`, -1 for what is no slice. */
  readonly colorOf: (rect: FlameRect) => number;
  readonly textOf: (rect: FlameRect, px: number) => string;
  readonly figureOf: (rect: FlameRect) => string;
  readonly isDim: (rect: FlameRect) => boolean;
  /** Rectangles under the pointer and of the keyboard; -1 for none. */
  readonly hover: number;
}

function drawFlame(picture: FlamePicture) {
  const { ctx, palette, width, height, rects, hover, cursor } = picture;
  ctx.fillStyle = palette.bg;
  ctx.fillRect(0, 0, width, height);
  ctx.font = `400 11px ${palette.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const rect of rects) drawRect(picture, rect);
  if (hover >= 0 && rects[hover]) outline(picture, rects[hover], 1);
  if (cursor >= 0 && rects[cursor]) outline(picture, rects[cursor], 2);
}

function drawRect(picture: FlamePicture, rect: FlameRect) {
  const { ctx, palette, width, height, scrollTop } = picture;
  const y = rect.level * FLAME_ROW_PX - scrollTop;
  if (y + FLAME_ROW_PX < 0 || y > height) return;
  const x0 = rect.x0 * width;
  const px = (rect.x1 - rect.x0) * width;
  const color = picture.colorOf(rect);
  const [fill, edge] = color < 0 ? [palette.bg2, palette.rule2] : [picture.fills[color], picture.edges[color]];
  ctx.globalAlpha = picture.isDim(rect) ? DIM_ALPHA : 1;
  ctx.fillStyle = px < FILL_MIN_PX ? edge : fill;
  ctx.fillRect(x0, y, Math.max(0.6, px - (px < FILL_MIN_PX ? 0.3 : 1)), BOX_PX);
  if (px >= FILL_MIN_PX) {
    ctx.fillStyle = edge;
    ctx.fillRect(x0, y, 1, BOX_PX);
  }
  if (px >= TEXT_MIN_PX) drawText(picture, rect, x0, y, px, color < 0 ? palette.ink : palette.sliceInk);
  ctx.globalAlpha = 1;
}

function drawText(picture: FlamePicture, rect: FlameRect, x0: number, y: number, px: number, ink: string) {
  const { ctx } = picture;
  const room = px - 2 * PADDING_PX;
  const middle = y + BOX_PX / 2 + 0.5;
  const text = picture.textOf(rect, room);
  if (text === "") return;
  ctx.fillStyle = ink;
  ctx.fillText(text, x0 + PADDING_PX, middle);
  const figure = picture.figureOf(rect);
  const figurePx = ctx.measureText(figure).width;
  if (ctx.measureText(text).width + figurePx + 12 > room) return;
  ctx.fillText(figure, x0 + px - PADDING_PX - figurePx, middle);
}

function outline({ ctx, palette, width, scrollTop }: FlamePicture, rect: FlameRect, lineWidth: number) {
  const half = lineWidth / 2;
  const left = rect.x0 * width;
  const right = Math.max(left + 3, rect.x1 * width - 1);
  ctx.strokeStyle = palette.ink;
  ctx.lineWidth = lineWidth;
  const y = rect.level * FLAME_ROW_PX - scrollTop;
  ctx.strokeRect(left + half, y + half, right - left - lineWidth, BOX_PX - lineWidth);
}

/** Index of the rectangle at a point of the flame's whole picture, -1 for none. */
function flameRectAt(rects: readonly FlameRect[], width: number, x: number, y: number): number {
  const level = Math.floor(y / FLAME_ROW_PX);
  const at = x / width;
  return rects.findIndex((rect) => rect.level === level && rect.x0 <= at && at < rect.x1);
}
