/** The share of each step that waited for data, and what the host's input time went into. */

import { numbers, type RangePs, type Scope } from "../../data/columns";
import type { PipelineMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import {
  type InputOp,
  type InputPart,
  type InputWait,
  inputOps,
  inputParts,
  inputShares,
  inputWait,
  keepsUp,
  type Latency,
  type NodeStats,
} from "../../model/input";
import { stepLabel, stepsOfRange, stepsOfScope, stepWords } from "../../model/range";
import { countedSteps, niceTicks, type Statistics, statisticsOf, timeOfSteps } from "../../model/steps";
import { formatAmount, formatCount, formatMs, formatNumber, formatPercent, formatTime, plural } from "../../model/text";
import { h, inFrame, say, svg, watchSize } from "../../ui/dom";
import { TipBox, watchPlot } from "../../ui/plot";
import { swatch } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import {
  type Field,
  type LedgerOptions,
  type LedgerRow,
  nameColumn,
  numberColumn,
  reader,
  textColumn,
} from "../../ui/table";
import { chooseRange, type TraceView } from "../../ui/view";

export interface InputScene {
  readonly index: number;
  readonly pipeline: PipelineMeta;
  /** The node that the training fetches from. */
  readonly root: number;
  readonly range: RangePs;
  /** Of figures that are not of batches. */
  readonly scope: Scope;
  /** Rows of the root calls of the range, longest first. */
  readonly ranked: readonly number[];
  /** Place in `ranked` of the execution shown; null for the average of all. */
  readonly rank: number | null;
  readonly stats: NodeStats;
  /** What the sums are divided by. */
  readonly nBatches: number;
  /** How long the first fetch took, where it is left out of the average. */
  readonly startupPs: number;
  readonly isCritical: readonly boolean[];
  /** The bottleneck of what is shown, -1 for none. */
  readonly slow: number;
  /** What the steps shown wait for data, where that is too little to matter; null where it matters or is not known. */
  readonly kept: InputWait | null;
}

type CategoryWords = Readonly<Record<"label" | "tip" | "advice", string>>;

const WORDS: Readonly<Record<string, CategoryWords>> = {
  "Demanded file read": {
    label: "Read on demand",
    tip: "Reading files without caching, prefetching or interleaving",
    advice: "Read files in advance: prefetch, interleave, and a reader buffer do it in tf.data.",
  },
  "Advanced file read": {
    label: "Read in advance",
    tip: "Reading files ahead, with caching, prefetching or interleaving",
    advice: "Tune what reads ahead: the buffer of prefetch, cycle_length of interleave, buffer_size of the reader.",
  },
  Preprocessing: {
    label: "Preprocessing",
    tip: "All ops between reading and handing over, such as decoding images",
    advice: "Raise num_parallel_calls of map, or preprocess the data once, offline.",
  },
  Enqueue: {
    label: "Enqueue to device",
    tip: "Putting data into the queue that goes to the device",
    advice: "Combine small chunks of data into fewer, larger ones before they go to the device.",
  },
};

/** In the order of the guide. */
const CATEGORY_ORDER: readonly string[] = Object.keys(WORDS);

function categoryWords(category: string): CategoryWords {
  return WORDS[category] ?? { label: category, tip: "", advice: "" };
}

const STRIP_PX = 84;
const AXIS_PX = 34;
const LABELS_PX = 14;
const STEP_LABEL_PX = 60;
/** A bar is not wider than this, however few steps there are. */
const MAX_BAR_PX = 28;
/** Strength of the input colour, from the first category to the last. */
const TINTS = [100, 74, 52, 34, 20] as const;

export class WaitPane {
  readonly element = h("div.tfp-pane.tfp-wait");
  readonly #stepWords = h("div.line");
  readonly #strip = h("div.tfp-strip");
  readonly #drawing = svg("svg", { height: STRIP_PX + LABELS_PX, "aria-hidden": "true" });
  readonly #host = h("div");
  #range: RangePs = null;
  #shares: Float64Array = new Float64Array(0);

  constructor(readonly view: TraceView) {
    this.element.append(this.#stepWords, this.#strip, this.#host);
    this.#strip.append(this.#drawing);
    const tip = new TipBox(this.#strip);
    const step = (x: number) => this.#stepAt(x);
    watchPlot(this.#strip, view.signal, {
      onHover: (x) => this.#hover(x, tip),
      onLeave: () => tip.hide(),
      onClick: (x) => this.#choose(step(x), step(x)),
      onDrag: () => undefined,
      onDragEnd: (x0, x1) => this.#choose(step(Math.min(x0, x1)), step(Math.max(x0, x1))),
    });
    const redraw = inFrame(() => this.#draw(), view.signal);
    watchSize(this.#strip, view.signal, redraw);
  }

  show({ range, scope }: Pick<InputScene, "range" | "scope">): void {
    this.#range = range;
    const { data } = this.view;
    this.#shares = inputShares(this.#steps);
    this.#sayStatistics();
    this.#draw();
    this.#host.replaceChildren();
    if (data.meta.input === undefined) return;
    const ops = inputOps(data.meta, data.table, scope);
    const each = stepsOfScope(data.table("steps"), scope) === null ? "" : " a step";
    this.#host.append(...hostParts(inputParts(CATEGORY_ORDER, ops), each, keepsUp(inputWait(this.#steps, range))));
  }

  get #steps() {
    return this.view.data.table("steps") ?? EMPTY_TABLE;
  }

  #sayStatistics(): void {
    const counted = countedSteps(this.#steps, this.#range);
    if (counted.length === 0) {
      const why =
        this.#steps.n === 0 ? "No steps in this capture; the step chart says why." : "No whole step in this range.";
      this.#stepWords.replaceChildren(h("span.tfp-say", why));
      return;
    }
    const share = statisticsOf(counted.map((i) => this.#shares[i]));
    const duration = numbers(this.#steps, "duration_ps");
    const time = statisticsOf(counted.map((i) => duration[i] / 1e9));
    const spread = (text: (value: number) => string, { avg, sd, min, max, n }: Statistics) =>
      n === 1 ? text(avg) : `${text(avg)} ± ${text(sd)}, ${text(min)} to ${text(max)}`;
    const each = share.n > 1 ? ` · each ${spread(formatPercent, share)}` : "";
    const ratio = formatPercent(inputWait(this.#steps, this.#range)?.ratio ?? 0);
    const lead = h("b", `Waiting for data: ${ratio} of ${plural(share.n, "step")}`);
    const line = h("span.tfp-say", { role: "status" });
    say(line, lead, `${each} · step time ${spread(formatMs, time)}`);
    this.#stepWords.replaceChildren(line);
  }

  get #room(): number {
    return Math.max(120, (this.#strip.clientWidth || 800) - AXIS_PX - 4);
  }

  get #width(): number {
    return Math.min(this.#room, this.#shares.length * MAX_BAR_PX);
  }

  /** One bar a step, or one a pixel column at the height of its largest. */
  #draw(): void {
    const { data, link } = this.view;
    const n = this.#shares.length;
    const width = this.#width;
    this.#drawing.setAttribute("width", String(this.#room + AXIS_PX + 4));
    const most = this.#shares.reduce((a, b) => Math.max(a, b), 0);
    const ticks = niceTicks(Math.max(0.05, most) * 100, 2).filter((tick) => tick <= 100);
    const top = Math.max(most * 100, ticks[ticks.length - 1]);
    const y = (percent: number) => STRIP_PX - (percent / top) * (STRIP_PX - 6);
    const range = link.timeRange;
    const covered = range && stepsOfRange(this.#steps, [range[0] * 1000, range[1] * 1000]);
    const x = (step: number) => AXIS_PX + (step / Math.max(1, n)) * width;
    const parts: SVGElement[] = ticks.flatMap((tick) => {
      const text = tick === 0 ? "" : `${formatNumber(tick, tick < 10 ? 1 : 2)} %`;
      const place = { x: AXIS_PX - 4, y: y(tick) + 4, "text-anchor": "end" };
      return [svg("path.grid", { d: `M${AXIS_PX} ${y(tick)}h${this.#room}` }), svg("text", place, text)];
    });
    if (covered) {
      const [x0, x1] = [x(covered[0]), x(covered[1] + 1)];
      parts.unshift(svg("rect.range", { x: x0, y: 0, width: x1 - x0, height: STRIP_PX }));
    }
    parts.push(svg("path.bars", { d: barsPath(this.#shares, width, (ratio) => y(ratio * 100)) }));
    if (n > 0) parts.push(svg("text", { x: AXIS_PX - 4, y: STRIP_PX + 11, "text-anchor": "end" }, "step"));
    const every = Math.max(1, Math.ceil(n / Math.max(1, Math.floor(width / STEP_LABEL_PX))));
    for (let i = 0; i < n; i += every) {
      const text = stepLabel(data.meta.step_names, i);
      parts.push(svg("text", { x: x(i + 0.5), y: STRIP_PX + 11, "text-anchor": i === 0 ? "start" : "middle" }, text));
    }
    this.#drawing.replaceChildren(...parts);
  }

  #stepAt(px: number): number {
    const n = this.#shares.length;
    return Math.max(0, Math.min(n - 1, Math.floor(((px - AXIS_PX) / this.#width) * n)));
  }

  #choose(first: number, last: number): void {
    if (this.#shares.length === 0) return;
    const { link } = this.view;
    const next = timeOfSteps(this.#steps, first, last);
    const now = link.timeRange;
    const isChosen = now !== null && now[0] === next[0] && now[1] === next[1];
    chooseRange(link, isChosen ? null : next, isChosen || first !== last ? -1 : first);
  }

  #hover(px: number, tip: TipBox): void {
    if (this.#shares.length === 0) return;
    const step = this.#stepAt(px);
    const name = stepWords(this.view.data.meta.step_names, step);
    const ms = numbers(this.#steps, "input_ms")[step];
    const whole = numbers(this.#steps, "duration_ps")[step] / 1e9;
    const title = `${name} · waits ${formatPercent(this.#shares[step])}`;
    tip.show(px, 4, { title, lines: [`${formatMs(ms)} of ${formatMs(whole)}`] });
  }
}

/** Bars from the ground of the strip; where steps are narrower than a pixel the largest of a column stands for it. */
function barsPath(shares: Float64Array, width: number, y: (ratio: number) => number): string {
  const n = shares.length;
  const columns = Math.min(n, Math.floor(width));
  const gap = width / Math.max(1, n) > 3 ? 1 : 0;
  let path = "";
  for (let c = 0; c < columns; c++) {
    const [first, last] = [Math.floor((c * n) / columns), Math.floor(((c + 1) * n) / columns)];
    let most = 0;
    for (let i = first; i < last; i++) most = Math.max(most, shares[i]);
    if (most <= 0) continue;
    const [x0, x1] = [(c * width) / columns, ((c + 1) * width) / columns - gap];
    path += `M${AXIS_PX + x0} ${STRIP_PX}V${y(most)}H${AXIS_PX + x1}V${STRIP_PX}z`;
  }
  return path;
}

function hostParts(parts: readonly InputPart[], each: string, isEnough: boolean): HTMLElement[] {
  const total = parts.reduce((sum, part) => sum + part.ms, 0);
  const head = h("b", "On the host, all threads:");
  const line = h("div.line", h("span.tfp-say", head, ` ${formatMs(total)}${each} of work for the input`));
  if (total <= 0) {
    line.replaceChildren(h("span.tfp-say", "No input op ran on the host."));
    return [line];
  }
  const tint = (i: number) => `color-mix(in srgb, var(--c-input) ${TINTS[i] ?? 20}%, var(--bg))`;
  const bar = h("div.tfp-wait-bar", { role: "img", "aria-label": "Host input time by category" });
  const legend = h("div.tfp-host-keys");
  parts.forEach(({ category, ms, ratio }, i) => {
    const { label, tip } = categoryWords(category);
    const style = { flex: `${ratio} 0 0`, background: tint(i) };
    if (ratio > 0) bar.append(h("i", { title: `${label}: ${formatMs(ms)}${each}, ${formatPercent(ratio)}`, style }));
    const name = h("span.n", swatch(tint(i)), label);
    legend.append(h("div", { title: tip }, name, h("span", `${formatMs(ms)} · ${formatPercent(ratio)}`)));
  });
  const largest = parts.reduce((a, b) => (b.ms > a.ms ? b : a));
  const { label, advice } = categoryWords(largest.category);
  if (isEnough) return [line, bar, legend];
  return [line, bar, legend, h("p.tfp-host-advice", h("b", `Largest: ${label}. `), advice)];
}

type Parts<R extends LedgerRow> = Omit<LedgerOptions<R>, "onPick" | "isSelected">;

export type InputOpRow = InputOp & LedgerRow;

type Head = { id: string; title: string; tip: string };

const share = <R>(head: Head, value: Field<R, number>): GridColumn<R> =>
  numberColumn({ ...head, width: 72, narrowWidth: 60, isOptional: false }, value, formatPercent);

const ms = <R>(head: Head, ps: Field<R, number>): GridColumn<R> => {
  const value = reader(ps);
  return numberColumn({ ...head, width: 124, narrowWidth: 116, isOptional: false }, (row) => value(row) / 1e9);
};

/** Of an iterator, in the graph as in the table. */
const WORK = "Without the iterators that it takes elements from; what its function runs counts";
const COUNT = { id: "count", title: "Count", tip: "Executions", width: 84, narrowWidth: 84, isOptional: false };

const OP_COLUMNS: readonly GridColumn<InputOpRow>[] = [
  nameColumn({ id: "name", title: "Input op" }, "name"),
  numberColumn(COUNT, "count", formatAmount),
  ms({ id: "work", title: "Work, ms", tip: WORK }, "workPs"),
  share({ id: "share", title: "Work", tip: "Of the work of all input ops" }, "workRatio"),
  ms({ id: "waiting", title: "Waiting, ms", tip: "For the iterators that hand it elements" }, "waitPs"),
  ms({ id: "total", title: "Total, ms", tip: "Work and waiting, over all threads" }, "totalPs"),
  {
    ...{ id: "category", title: "Category", width: 124, narrowWidth: 112, value: (row) => row.category },
    cell: (row) => categoryWords(row.category).label,
  },
];

export const OP_LEDGER: Parts<InputOpRow> = {
  label: "Input ops",
  columns: OP_COLUMNS,
  sortBy: "work",
  placeholder: "No input op ran in this range.",
  fileName: "input_ops.csv",
  csv: {
    op: (row) => row.name,
    count: (row) => row.count,
    total_time_ms: (row) => row.totalPs / 1e9,
    work_time_ms: (row) => row.workPs / 1e9,
    waiting_time_ms: (row) => row.waitPs / 1e9,
    category: (row) => row.category,
  },
};

export interface PipelineRow extends LedgerRow, Latency, Readonly<Record<"host" | "kind" | "bottleneck", string>> {
  readonly index: number;
}

export function pipelineRow(pipeline: PipelineMeta, index: number, latency: Latency): PipelineRow {
  const { nodes, bottleneck } = pipeline;
  const root = nodes.find((node) => node.parent < 0) ?? nodes[0];
  const name = `${pipeline.name} · ${root?.long_name ?? ""}`;
  const kind = pipeline.is_device ? "device" : "host";
  const slow = bottleneck === null ? "" : (nodes[bottleneck]?.name ?? "");
  return { ...latency, key: String(index), index, name, host: String(pipeline.host ?? ""), kind, bottleneck: slow };
}

const time = (head: Head, field: "avg" | "min" | "max"): GridColumn<PipelineRow> => ({
  ...{ ...head, width: 84, narrowWidth: 70, isRight: true },
  value: (row) => row[field] || 0,
  cell: (row) => (Number.isFinite(row[field]) ? formatTime(row[field]) : "–"),
});

const count = (head: Head, value: Field<PipelineRow, number>): GridColumn<PipelineRow> =>
  numberColumn({ ...head, width: 82, narrowWidth: 66, isOptional: false }, value, formatCount);

const KIND = "A host pipeline runs the program's code; a device pipeline hands its elements to a device";

const PIPELINE_COLUMNS: readonly GridColumn<PipelineRow>[] = [
  nameColumn({ id: "name", title: "Pipeline" }, "name"),
  textColumn({ id: "host", title: "Host", width: 90, isOptional: true }, "host"),
  textColumn({ id: "kind", title: "Kind", tip: KIND, width: 62, isOptional: true }, "kind"),
  count({ id: "calls", title: "Calls", tip: "Of its outermost iterator, in this range" }, "nCalls"),
  count({ id: "slow", title: "> 50 µs", tip: "Calls longer than 50 µs: the training waits for those" }, "nSlow"),
  time({ id: "avg", title: "Average", tip: "Of a call" }, "avg"),
  time({ id: "min", title: "Min", tip: "The shortest call" }, "min"),
  time({ id: "max", title: "Max", tip: "The longest call" }, "max"),
  textColumn({ id: "bottleneck", title: "Bottleneck", width: 120, narrowWidth: 96 }, "bottleneck"),
];

export const PIPELINE_LEDGER: Parts<PipelineRow> = {
  label: "Input pipelines",
  columns: PIPELINE_COLUMNS,
  sortBy: "max",
  placeholder: "No pipeline was called.",
  attributes: (row) => ({ "data-pipeline": String(row.index) }),
  fileName: "input_pipelines.csv",
  csv: {
    pipeline: (row) => row.name,
    host: (row) => row.host,
    kind: (row) => row.kind,
    n_calls: (row) => row.nCalls,
    n_slow_calls: (row) => row.nSlow,
    avg_latency_us: (row) => row.avg / 1e6,
    min_latency_us: (row) => row.min / 1e6,
    max_latency_us: (row) => row.max / 1e6,
    bottleneck: (row) => row.bottleneck,
  },
};
