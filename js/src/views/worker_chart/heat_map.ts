/** The aligned steps of the hosts that the link is about, and their heat map on a canvas, walked through by arrows. */

import { numbers, partOf, rangeInPs } from "../../data/columns";
import { CATEGORY_LABELS, type StragglerMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import {
  alignedIn,
  alignedOf,
  COMMUNICATION,
  type HostGrid,
  hostGrid,
  hostMatrix,
  hostNamesThatFit,
  hostsOf,
  largestPart,
  mean,
  ownTimes,
  rangeOf,
  roleOf,
  rowsOf,
  shortHosts,
  stragglersIn,
  usualSteps,
  type WorkerRow,
  workerRows,
} from "../../model/hosts";
import { formatMsSpan } from "../../model/overview";
import { stepLabel, stepWords } from "../../model/range";
import { median, niceTicks, timeOfSteps } from "../../model/steps";
import { formatCount, formatMs, formatPercent, plural } from "../../model/text";
import { h, inFrame, on, onKeys, resolved, say, sized, unspoken, watchSize } from "../../ui/dom";
import { drawLabels, type PlotLabel } from "../../ui/plot";
import { chooseRange, type TraceView } from "../../ui/view";

/** Differences under this share of a step are no finding. */
const EVEN_RATIO = 0.02;

export interface Card {
  readonly title: string;
  readonly lines: readonly string[];
}

/** What is known of who waits for whom. */
interface Waiting {
  /** Whether the hosts wait for each other at all. */
  readonly waits: boolean;
  /** Some of `n` that hold the others up, worst first. */
  readonly stragglers: readonly StragglerMeta[];
  readonly n?: number;
  /** Whether there were steps enough to find them by. */
  readonly isJudged: boolean;
}

export function verdict(
  rows: readonly WorkerRow[],
  hosts: readonly string[],
  categories: readonly string[],
  { waits, stragglers, n = stragglers.length, isJudged }: Waiting,
): string {
  if (rows.length < 2) return "";
  if (stragglers.length > 0) return held(rows, stragglers[0], n);
  return waits ? even(rows, hosts, isJudged) : slowest(rows, hosts, categories);
}

/** "worker0042 holds the others up: its input takes 4.1 ms longer than the median; without it a step would take ..." */
function held(rows: readonly WorkerRow[], worst: StragglerMeta, n: number): string {
  const { host, category, excess_ms, cost_ms, cost_ratio } = worst;
  const stepMs = cost_ratio > 0 ? cost_ms / cost_ratio : mean(rows.map(({ stepTimeMs }) => stepTimeMs));
  const cost = `without ${n > 1 ? "them" : "it"} a step would take ${formatMs(stepMs - cost_ms)} instead of ${formatMs(stepMs)} (${formatPercent(cost_ratio)} less)`;
  const who = n > 1 ? `${n} hosts hold the others up, ${host} the most` : `${host} holds the others up`;
  return `${who}: its ${label(category)} takes ${formatMs(excess_ms)} longer than the median; ${cost}.`;
}

function even(rows: readonly WorkerRow[], hosts: readonly string[], isJudged: boolean): string {
  const own = rows.map(({ ownMs }) => ownMs);
  const step = mean(rows.map(({ stepTimeMs }) => stepTimeMs));
  const [least, most] = ends(own);
  const work = `${formatMsSpan(least, most)} of a step of ${formatMs(step)}`;
  if (isJudged || most - least <= step * EVEN_RATIO)
    return `The hosts are even: each works ${work}, the rest is communication.`;
  const last = rows.reduce((a, b) => (b.ownMs > a.ownMs ? b : a));
  return `The hosts work ${work}, ${hosts[last.host]} the longest; the rest is communication.`;
}

/** Of hosts that do not wait for each other. */
function slowest(rows: readonly WorkerRow[], hosts: readonly string[], categories: readonly string[]): string {
  const slow = rows.reduce((a, b) => (b.stepTimeMs > a.stepTimeMs ? b : a));
  const fast = rows.reduce((a, b) => (b.stepTimeMs < a.stepTimeMs ? b : a));
  if (slow.behindMs <= slow.stepTimeMs * EVEN_RATIO)
    return `The hosts take the same time: ${formatMsSpan(fast.stepTimeMs, slow.stepTimeMs)}.`;
  const more = categories.map((_, c) => slow.parts[c] - fast.parts[c]);
  const cause = more.indexOf(Math.max(...more));
  return `${hosts[slow.host]} is the slowest: ${formatMs(slow.stepTimeMs)}, ${formatMs(slow.behindMs)} more than ${hosts[fast.host]}; ${label(categories[cause])} takes ${formatMs(more[cause])} more.`;
}

function ends(values: readonly number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), 0)];
}

export function label(category: string): string {
  return (CATEGORY_LABELS[category] ?? category).toLowerCase();
}

/** The card of a host; `role` is told where it is no worker, `held` what the others lose by it. */
export function card(
  row: WorkerRow,
  name: string,
  categories: readonly string[],
  what: string,
  more: { readonly role?: string | undefined; readonly held?: StragglerMeta | undefined } = {},
): Card {
  const hasOwn = row.ownMs < row.stepTimeMs;
  const own = hasOwn ? `, of which ${formatMs(row.ownMs)} its own work` : "";
  const lines = [`${what}: ${formatMs(row.stepTimeMs)}${own}`];
  categories.forEach((category, c) => {
    const ms = row.parts[c];
    if (ms <= 0) return;
    const mark = c === row.bottleneck ? " · bottleneck" : "";
    const name = CATEGORY_LABELS[category] ?? category;
    lines.push(`${name} ${formatMs(ms)} · ${formatPercent(ms / row.stepTimeMs)}${mark}`);
  });
  const { role, held } = more;
  if (held) {
    const { n_steps, n_aligned, cost_ms } = held;
    lines.push(`last in ${n_steps} of ${plural(n_aligned, "step")}: costs the others ${formatMs(cost_ms)} a step`);
  } else if (row.behindMs > row.stepTimeMs * EVEN_RATIO)
    lines.push(`${formatMs(row.behindMs)} behind the fastest host`);
  return { title: isSpecial(role) ? `${name} · ${role}` : name, lines };
}

/** Whether a role is worth a word: most hosts are workers. */
export function isSpecial(role: string | undefined): boolean {
  return role !== undefined && role !== "" && role !== "worker";
}

function meanOf(n: number): string {
  return n === 1 ? "1 step" : `mean of ${plural(n, "step")}`;
}

export type SortBy = "host" | "step" | "own";

const NAME_CHARACTERS = 24;
/** As Python has it: of fewer steps it names no straggler. */
const MIN_STEPS = 3;

export class WorkerModel {
  readonly table: Table;
  readonly steps: Table;
  readonly hosts: readonly string[];
  readonly roles: readonly string[];
  readonly nSteps: number;
  /** Aligned steps that averages count. */
  readonly usual: ReadonlySet<number>;
  /** By host a name that a table has room for. */
  readonly shortNames: readonly string[];
  /** Whether any host waits for others: then own times, not step times, tell the hosts apart. */
  readonly hasOwn: boolean;
  /** Categories that took time on any host at any step, communication last: the own times then begin at one line. */
  readonly stack: readonly number[];
  sortBy: SortBy = "host";
  /** The aligned steps shown, what to call them, and the hosts' means of them in the order asked for. */
  chosen: ReadonlySet<number> = new Set();
  what = "";
  rows: readonly WorkerRow[] = [];
  stragglers: readonly StragglerMeta[] = [];
  nStragglers = 0;
  /** Whether the steps shown are those by which stragglers were looked for, and enough. */
  isJudged = false;

  constructor(readonly view: TraceView) {
    const { data } = view;
    this.table = data.table("worker_steps") ?? EMPTY_TABLE;
    this.steps = data.table("steps") ?? EMPTY_TABLE;
    this.hosts = data.meta.worker_hosts ?? [];
    const all = hostsOf(data.meta);
    this.roles = this.hosts.map((name) => roleOf(data.meta, all.indexOf(name)));
    this.shortNames = hostNamesThatFit(this.hosts, NAME_CHARACTERS);
    this.nSteps = this.hosts.length > 0 ? this.table.n / this.hosts.length : 0;
    this.usual = usualSteps(this.table, this.steps.columns.is_averaged as Uint8Array);
    this.stack = this.#used();
    this.hasOwn = this.stack.includes(this.categories.indexOf(COMMUNICATION));
  }

  get categories(): readonly string[] {
    return this.view.data.meta.categories;
  }

  #used(): readonly number[] {
    const { categories } = this;
    const used = categories.flatMap((category, c) => {
      const column = this.table.columns[`${category}_ms`] as Float64Array | undefined;
      return column?.some((ms) => ms > 0) ? [c] : [];
    });
    const communication = categories.indexOf(COMMUNICATION);
    return [...used.filter((c) => c !== communication), ...used.filter((c) => c === communication)];
  }

  /** A parameter server answers the workers: nobody waits for its steps. */
  isWorker(host: number): boolean {
    return this.roles[host] !== "parameter server" && this.roles[host] !== "coordinator";
  }

  update(): void {
    const { steps, what, isWhole } = this.#ofLink();
    const { categories, table, hosts } = this;
    this.chosen = steps;
    this.what = what;
    const rows = workerRows(table, categories, hosts.length, steps);
    const { meta } = this.view.data;
    const named = meta.stragglers ?? [];
    this.stragglers = isWhole ? named : stragglersIn(table, named, categories, hosts, steps);
    this.nStragglers = isWhole ? (meta.n_stragglers ?? named.length) : this.stragglers.length;
    this.isJudged = isWhole === true && this.nSteps >= MIN_STEPS;
    this.rows = this.#sorted(rows);
  }

  /** The aligned steps that the link is about, and what to call them. */
  #ofLink(): { steps: ReadonlySet<number>; what: string; isWhole?: boolean } {
    const { link, data } = this.view;
    const one = link.step >= 0 ? alignedOf(this.table, link.step) : -1;
    if (one >= 0) return { steps: new Set([one]), what: stepWords(data.meta.step_names, link.step) };
    const range = rangeInPs(link.timeRange, this.steps);
    if (range !== null) {
      const steps = alignedIn(this.table, this.steps, range);
      return { steps, what: steps.size === 0 ? "no whole step in this range" : `${meanOf(steps.size)} in the range` };
    }
    return { steps: this.usual, what: meanOf(this.usual.size), isWhole: true };
  }

  /** Workers first, whatever the order: other hosts' steps are not to be compared with theirs. */
  #sorted(rows: readonly WorkerRow[]): readonly WorkerRow[] {
    const key = { host: () => 0, step: (r: WorkerRow) => -r.stepTimeMs, own: (r: WorkerRow) => -r.ownMs }[this.sortBy];
    const rank = (row: WorkerRow) => Number(!this.isWorker(row.host));
    return [...rows].sort((a, b) => rank(a) - rank(b) || key(a) - key(b) || a.host - b.host);
  }

  get sentence(): string {
    const workers = this.rows.filter(({ host }) => this.isWorker(host));
    const { hosts, categories, stragglers, nStragglers: n, isJudged } = this;
    const { worker_note, workers_wait: waits = this.hasOwn } = this.view.data.meta;
    const words = [verdict(workers, hosts, categories, { waits, stragglers, n, isJudged }), worker_note ?? ""];
    return words.filter(Boolean).join(" ");
  }

  stragglerOf(host: number): StragglerMeta | undefined {
    return this.stragglers.find((one) => one.host === this.hosts[host]);
  }

  rowAt(host: number, aligned: number): WorkerRow {
    const rows = workerRows(this.table, this.categories, this.hosts.length, new Set([aligned]));
    return { ...rows[host], behindMs: 0 };
  }

  /** What an aligned step is called on the first host. */
  stepName(aligned: number): string {
    const row = rowsOf(this.table, aligned, this.hosts.length)[this.rows[0]?.host ?? 0];
    return stepLabel(this.view.data.meta.step_names, row);
  }

  /** Makes all views be about an aligned step, of one host where one is told; null is the mean of all. */
  choose(aligned: number | null, host = -1): void {
    const { link } = this.view;
    if (aligned === null) {
      chooseRange(link, null);
      return;
    }
    const rows = rowsOf(this.table, aligned, this.hosts.length);
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const row of rows) {
      const [begin, end] = timeOfSteps(this.steps, row, row);
      [from, to] = [Math.min(from, begin), Math.max(to, end)];
    }
    chooseRange(link, [from, to], rows[Math.max(0, host)]);
  }

  /** Makes all views be about a host, or about all again where they are about it. */
  chooseHost(host: number): void {
    const { link } = this.view;
    link.setHost(link.host === this.hosts[host] ? "" : (this.hosts[host] ?? ""));
  }

  /** A value of each row of the table: of own time, step time, or a category. */
  values(of: string): ArrayLike<number> {
    return numbers(this.table, of === "step" ? "step_time_ms" : `${of}_ms`);
  }
}

function cellCard(
  model: WorkerModel,
  grid: HostGrid,
  cell: { readonly row: number; readonly column: number },
  about: { readonly of: string; readonly medianMs: number },
): Card {
  const { row, column } = cell;
  const at = row * grid.nColumns + column;
  const [host, step] = [grid.host[at], grid.step[at]];
  const name = model.hosts[host];
  const what = `step ${model.stepName(step)}`;
  const figures = model.rowAt(host, step);
  const { title, lines } = card(figures, name, model.categories, what, { role: model.roles[host] });
  const value = grid.value[at];
  const more = value - about.medianMs;
  const compared = `${valueLabel(about.of)} ${formatMs(value)}: ${formatMs(Math.abs(more))} ${more < 0 ? "under" : "over"} the median of the hosts`;
  const nHosts = grid.firstPlace[row + 1] - grid.firstPlace[row];
  const nSteps = grid.firstStep[column + 1] - grid.firstStep[column];
  const merged = `the largest of ${[nHosts > 1 && plural(nHosts, "host"), nSteps > 1 && plural(nSteps, "step")].filter(Boolean).join(" and ")} here`;
  return { title, lines: [lines[0], compared, ...lines.slice(1), ...(nHosts * nSteps > 1 ? [merged] : [])] };
}

export function valueLabel(of: string): string {
  return of === "own" ? "Own work" : of === "step" ? "Step time" : (CATEGORY_LABELS[of] ?? of);
}

/** The host that a row of the grid stands for: that with the largest value in any step. */
function rowOfCell(grid: HostGrid, row: number): number {
  let best = row * grid.nColumns;
  for (let at = best; at < (row + 1) * grid.nColumns; at++) if (grid.value[at] > grid.value[best]) best = at;
  return grid.host[best];
}

const GAP_FROM_PX = 5;
const N_COLORS = 256;
/** One straggler must not make all others the same shade: small differences take more of the ramp than large ones. */
const EXPONENT = 0.5;

/** The value of the shade in the middle of the ramp. */
function middleOf([least, most]: readonly [number, number]): number {
  return least + 0.5 ** (1 / EXPONENT) * (most - least);
}

interface Ramp {
  readonly css: string;
  /** RGBA of each of 256 shades. */
  readonly rgba: Uint8ClampedArray;
}

/** A category has its own colour; times of several categories have that of the text, which means none. */
function colorRamp(root: HTMLElement, of: string): Ramp {
  const color = of === "own" || of === "step" ? "var(--ink)" : `var(--c-${of})`;
  const mixes = [7, 40, 96].map((percent) => `color-mix(in srgb, ${color} ${percent}%, var(--bg))`);
  const css = `linear-gradient(to right, ${mixes.join(", ")})`;
  const canvas = h("canvas", { width: N_COLORS, height: 1 });
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  if (!ctx) return { css, rgba: new Uint8ClampedArray(4 * N_COLORS) };
  const [ground, ...stops] = resolved(root, ["var(--bg)", ...mixes]);
  ctx.fillStyle = ground;
  ctx.fillRect(0, 0, N_COLORS, 1);
  const gradient = ctx.createLinearGradient(0, 0, N_COLORS, 0);
  for (const [k, stop] of stops.entries()) gradient.addColorStop(k / (stops.length - 1), stop);
  ctx.fillStyle = gradient;
  ctx.fillRect(0, 0, N_COLORS, 1);
  return { css, rgba: ctx.getImageData(0, 0, N_COLORS, 1).data };
}

interface CellPlace extends Readonly<Record<"left" | "width" | "height", number>> {
  readonly total: { readonly width: number; readonly height: number };
}

function paintCells(
  canvas: HTMLCanvasElement,
  grid: HostGrid,
  [least, most]: readonly [number, number],
  ramp: Ramp,
  place: CellPlace,
): void {
  const ctx = sized(canvas, place.total.width, place.total.height);
  ctx?.clearRect(0, 0, place.total.width, place.total.height);
  const cells = h("canvas", { width: grid.nColumns, height: grid.nRows });
  const inner = cells.getContext("2d");
  if (!ctx || !inner || grid.value.length === 0) return;
  const image = inner.createImageData(grid.nColumns, grid.nRows);
  const span = Math.max(1e-12, most - least);
  for (let i = 0; i < grid.value.length; i++) {
    const ratio = Math.max(0, Math.min(1, (grid.value[i] - least) / span));
    const shade = Math.round(ratio ** EXPONENT * (N_COLORS - 1));
    image.data.set(ramp.rgba.subarray(4 * shade, 4 * shade + 4), 4 * i);
  }
  inner.putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(cells, place.left, 0, place.width, place.height);
  drawGaps(ctx, grid, place);
}

function drawGaps(ctx: CanvasRenderingContext2D, { nRows, nColumns }: HostGrid, place: CellPlace): void {
  const { left, width, height } = place;
  if (width / nColumns >= GAP_FROM_PX) {
    for (let c = 1; c < nColumns; c++) ctx.clearRect(Math.round(left + (c / nColumns) * width), 0, 1, height);
  }
  if (height / nRows >= GAP_FROM_PX) {
    for (let r = 1; r < nRows; r++) ctx.clearRect(left, Math.round((r / nRows) * height), width, 1);
  }
}

const LABELS_PX = { least: 44, most: 132 };
const AXIS_PX = 16;
const CHARACTER_PX = 6.3;
/** Between the names of two hosts, and the room that the number of a step takes. */
const NAME_PX = 13;
const TICK_PX = 46;
const PAGE_ROWS = 10;

interface Cell {
  row: number;
  column: number;
}

export class HeatMap {
  readonly element: HTMLElement;
  readonly #caption = h("span.q");
  readonly #legend = h("span.tfp-host-ramp");
  readonly #plot: HTMLElement;
  readonly #canvas = unspoken("canvas");
  readonly #labels = unspoken("div.tfp-labels");
  readonly #marks = unspoken("div.marks");
  /** What is coloured: "own", "step" or a category. */
  of: string;
  #matrix: Float32Array = new Float32Array();
  #range: readonly [number, number] = [0, 0];
  #grid: HostGrid | null = null;
  #size = { width: 0, height: 0, left: LABELS_PX.least };
  #cursor: Cell | null = null;
  /** Until the next frame keys and pointer act on what is on the screen. */
  readonly draw: () => void;

  constructor(
    readonly model: WorkerModel,
    /** Shows a card beside a box; null hides it. */
    readonly onHover: (card: Card | null, box: DOMRect | null) => void,
  ) {
    const { signal, onTheme } = model.view;
    this.of = model.hasOwn ? "own" : "step";
    const attributes = { tabindex: 0, role: "application", "aria-roledescription": "heat map" };
    this.#plot = h("div.plot.tfp-plot", attributes, this.#canvas, this.#marks, this.#labels);
    this.element = h("div.tfp-host-heat", h("p", this.#caption, this.#legend), this.#plot);
    this.draw = inFrame(() => this.#paint(), signal);
    onTheme(this.draw);
    watchSize(this.#plot, signal, (width, height) => {
      Object.assign(this.#size, { width, height });
      this.draw();
    });
    on(this.#plot, signal, {
      pointermove: (event) => this.#point(this.#cellUnder(event)),
      pointerleave: () => this.#point(null),
      blur: () => this.#point(null),
      click: (event) => this.#click(event),
    });
    onKeys(this.#plot, signal, (event) => this.#key(event));
    this.read();
  }
  read(): void {
    const { table, hosts, nSteps, usual } = this.model;
    const values = this.of === "own" ? ownTimes(table) : this.model.values(this.of);
    this.#matrix = hostMatrix(values, hosts.length, nSteps);
    // A first step that compiles would make all others one colour.
    this.#range = rangeOf(this.#matrix, nSteps, usual);
    this.draw();
  }

  get #right(): number {
    return Math.max(1, this.#size.width - this.#size.left);
  }
  get #bottom(): number {
    return Math.max(1, this.#size.height - AXIS_PX);
  }

  #paint(): void {
    const { model } = this;
    if (this.#size.width === 0) return;
    const names = shortHosts(model.hosts);
    const longest = names.short.reduce((most, name) => Math.max(most, name.length), 0) * CHARACTER_PX + 8;
    this.#size.left = Math.max(LABELS_PX.least, Math.min(LABELS_PX.most, Math.ceil(longest)));
    const order = model.rows.map(({ host }) => host);
    const alone = new Set(model.stragglers.map(({ host }) => model.hosts.indexOf(host)));
    const most = { rows: this.#bottom, columns: this.#right };
    const grid = hostGrid(this.#matrix, model.nSteps, order, most, alone);
    this.#grid = grid;
    const ramp = colorRamp(model.view.root, this.of);
    const place = { left: this.#size.left, width: this.#right, height: this.#bottom, total: this.#size };
    paintCells(this.#canvas, grid, this.#range, ramp, place);
    drawLabels(this.#labels, [...this.#names(grid, names.short), ...this.#ticks(grid)]);
    this.#say(grid, ramp.css, names.prefix);
    this.#mark();
  }

  /** Stragglers and the chosen host first, then one where there is room. */
  #names(grid: HostGrid, short: readonly string[]): PlotLabel[] {
    const { model } = this;
    const place = new Map(grid.order.map((host, at) => [host, at]));
    const hostOf = (name: string) => place.get(model.hosts.indexOf(name));
    const wanted = [model.view.link.host, ...model.stragglers.map(({ host }) => host)].map(hostOf);
    const first = wanted.filter((at): at is number => at !== undefined);
    const taken: number[] = [];
    const labels: PlotLabel[] = [];
    const put = (at: number, isBold: boolean) => {
      const middle = ((partOf(grid.firstPlace, at) + 0.5) / grid.nRows) * this.#bottom;
      const y = Math.max(NAME_PX / 2, Math.min(this.#bottom - NAME_PX / 2, middle));
      if (taken.some((other) => Math.abs(other - y) < NAME_PX)) return;
      taken.push(y);
      const text = short[grid.order[at]];
      labels.push({ x: this.#size.left - 5, y, text, align: "right", isBold, isFaint: !isBold });
    };
    for (const at of first) put(at, true);
    for (let row = 0; row < grid.nRows; row++) put(grid.firstPlace[row], false);
    return labels;
  }

  #ticks(grid: HostGrid): PlotLabel[] {
    const { left, height } = this.#size;
    const y = height - AXIS_PX / 2;
    const { nSteps } = this.model;
    const every = Math.max(1, Math.round(niceTicks(nSteps, this.#right / TICK_PX)[1] ?? 1));
    const labels: PlotLabel[] = [];
    for (let step = 0; step < nSteps; step += every) {
      const x = left + ((partOf(grid.firstStep, step) + 0.5) / grid.nColumns) * this.#right;
      labels.push({ x, y, text: this.model.stepName(step), align: "center", isFaint: true });
    }
    labels.push({ x: 0, y, text: "step", align: "left", isFaint: true });
    return labels;
  }

  /** How much a cell stands for, and what the colours mean. */
  #say(grid: HostGrid, css: string, prefix: string): void {
    const { model } = this;
    const [least, most] = this.#range;
    const [perRow, perColumn] = [grid.firstPlace, grid.firstStep].map(largestPart);
    const merged = [perRow > 1 && `up to ${perRow} hosts a row`, perColumn > 1 && `${perColumn} steps a column`];
    const words = merged.filter(Boolean).join(", ");
    const counts = `${formatCount(grid.order.length)} hosts × ${plural(model.nSteps, "aligned step")}`;
    const named = prefix === "" ? counts : counts.replace(" hosts", ` hosts ${prefix}…`);
    say(this.#caption, words ? `${named} · ${words}, of which the largest value is shown` : named);
    const isCut = this.#matrix.some((value) => value > most);
    const bar = unspoken("i");
    bar.style.background = css;
    const texts = [formatMs(least), formatMs(middleOf(this.#range)), `${formatMs(most)}${isCut ? " and more" : ""}`];
    this.#legend.replaceChildren(bar, ...texts.map((text) => h("span", text)));
    const label = `Heat map of ${counts}. Arrow keys move, Enter chooses host and step.`;
    if (!this.#cursor) this.#plot.setAttribute("aria-label", label);
  }

  /** Outlines of the chosen host, the chosen steps, and the cell with the cursor. */
  #mark(): void {
    const grid = this.#grid;
    if (grid === null) return;
    const { model } = this;
    const { left } = this.#size;
    const boxes: HTMLElement[] = [];
    const outline = (kind: string, rows: readonly [number, number], columns: readonly [number, number]) => {
      const [y0, y1] = rows.map((row) => Math.round((row / grid.nRows) * this.#bottom));
      const [x0, x1] = columns.map((column) => Math.round(left + (column / grid.nColumns) * this.#right));
      const size = { width: `${x1 - x0 + 2}px`, height: `${Math.max(1, y1 - y0) + 2}px` };
      boxes.push(h(`div.${kind}`, { style: { left: `${x0 - 1}px`, top: `${y0 - 1}px`, ...size } }));
    };
    const place = grid.order.indexOf(model.hosts.indexOf(model.view.link.host));
    if (place >= 0) {
      const row = partOf(grid.firstPlace, place);
      outline("on", [row, row + 1], [0, grid.nColumns]);
    }
    const isPart = model.view.link.timeRange !== null || model.view.link.step >= 0;
    if (isPart && model.chosen.size > 0) {
      const columns = [...model.chosen].map((step) => partOf(grid.firstStep, step));
      outline("on", [0, grid.nRows], [Math.min(...columns), Math.max(...columns) + 1]);
    }
    const cursor = this.#cursor;
    if (cursor) outline("cursor", [cursor.row, cursor.row + 1], [cursor.column, cursor.column + 1]);
    this.#marks.replaceChildren(...boxes);
  }

  #cellUnder(event: PointerEvent): Cell | null {
    const grid = this.#grid;
    const box = this.#plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - this.#size.left, event.clientY - box.top];
    if (grid === null || y < 0 || y >= this.#bottom || x >= this.#right) return null;
    const row = Math.floor((y / this.#bottom) * grid.nRows);
    return { row, column: x < 0 ? -1 : Math.floor((x / this.#right) * grid.nColumns) };
  }

  #point(cell: Cell | null): void {
    const grid = this.#grid;
    this.#cursor = cell !== null && cell.column >= 0 ? cell : null;
    this.#mark();
    if (grid === null || this.#cursor === null) {
      this.onHover(null, null);
      return;
    }
    const found = cellCard(this.model, grid, this.#cursor, { of: this.of, medianMs: this.#medianOf(this.#cursor) });
    this.#plot.setAttribute("aria-label", [found.title, ...found.lines].join(", "));
    const box = this.#marks.querySelector(".cursor")?.getBoundingClientRect() ?? null;
    this.onHover(found, box);
  }

  #medianOf(cell: Cell): number {
    const grid = this.#grid as HostGrid;
    const step = grid.step[cell.row * grid.nColumns + cell.column];
    const { nSteps } = this.model;
    const workers = grid.order.filter((host) => this.model.isWorker(host));
    return median(workers.map((host) => this.#matrix[host * nSteps + step]));
  }

  #click(event: PointerEvent): void {
    const cell = this.#cellUnder(event);
    if (cell === null || this.#grid === null) return;
    if (cell.column >= 0) this.#choose(cell);
    // On the names: the host in all its steps.
    else this.model.chooseHost(rowOfCell(this.#grid, cell.row));
  }

  /** The host and the step of a cell; of the chosen one, all again. */
  #choose({ row, column }: Cell): void {
    const { model } = this;
    const grid = this.#grid as HostGrid;
    const at = row * grid.nColumns + column;
    const [host, step] = [grid.host[at], grid.step[at]];
    const { link } = model.view;
    const isChosen = link.host === model.hosts[host] && model.chosen.size === 1 && model.chosen.has(step);
    link.setHost(isChosen ? "" : model.hosts[host]);
    model.choose(isChosen ? null : step, host);
  }

  #key(event: KeyboardEvent): boolean {
    const grid = this.#grid;
    const { link } = this.model.view;
    if (grid === null) return false;
    const at = this.#cursor ?? { row: 0, column: 0 };
    const last = { row: grid.nRows - 1, column: grid.nColumns - 1 };
    const { row, column } = at;
    const moves: Readonly<Record<string, Cell>> = {
      ArrowRight: { row, column: column + 1 },
      ArrowLeft: { row, column: column - 1 },
      ArrowDown: { row: row + 1, column },
      ArrowUp: { row: row - 1, column },
      PageDown: { row: row + PAGE_ROWS, column },
      PageUp: { row: row - PAGE_ROWS, column },
      Home: { row: event.ctrlKey ? 0 : row, column: 0 },
      End: { row: event.ctrlKey ? last.row : row, column: last.column },
    };
    const to = moves[event.key];
    if (to) {
      const inside = (value: number, most: number) => Math.max(0, Math.min(most, value));
      const moved = { row: inside(to.row, last.row), column: inside(to.column, last.column) };
      this.#point(this.#cursor ? moved : at);
    } else if ((event.key === "Enter" || event.key === " ") && this.#cursor) this.#choose(this.#cursor);
    else if (event.key === "Escape" && (link.host !== "" || link.timeRange !== null)) {
      link.setHost("");
      this.model.choose(null);
    } else return false;
    return true;
  }
}
