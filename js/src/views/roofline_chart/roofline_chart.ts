/** The roofline of the linked time range: a circle for each op, to be pointed at and walked through. */

import { eachInside, numbers, type RangePs, rangeInPs, rangeOf, type Scope, STEADY } from "../../data/columns";
import { notReduced } from "../../data/hosts";
import type { RooflineMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import { opName } from "../../model/ops";
import { COMPILE_CODE, frameworkOf } from "../../model/overview";
import { scopeOf, stepsOfScope, wholeSteps } from "../../model/range";
import { formatAmount, formatCount, formatNumber, formatPercent, formatTime, plural } from "../../model/text";
import { emptyState, h, inFrame, on, onKeys, say, setAria, svg, textWidth, watchSize } from "../../ui/dom";
import { type Tip, TipBox } from "../../ui/plot";
import { follow, type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";

/** What an op is held up by; "cache" where it moved more than the memory could, "" where that is not known. */
type Bound = "compute" | "memory" | "cache" | "";

export interface Work extends Readonly<Record<"row" | "ps" | "occurrences" | "byteRate", number>> {
  /** A second; NaN where not known. */
  readonly flopRate: number;
  /** Float operations a byte. */
  readonly intensity: number;
  readonly bound: Bound;
  /** The time that the device needs at least, of the time taken. */
  readonly roofRatio: number;
}

/** Time of each op and how many of its kernels ran, of those that the range cuts the part inside. */
type Sums = Readonly<Record<"ps" | "parts", ArrayLike<number>>>;

/** The ops that ran in a scope, most time first; without `occurrences` as is known of the capture or of its averaged steps. */
export function workOf(roofline: RooflineMeta, occurrences: Table | undefined, scope: Scope, nSteps = 1): Work[] {
  const { ops } = roofline;
  const sums = occurrences === undefined ? knownSums(roofline, scope) : sumsOf(roofline, occurrences, rangeOf(scope));
  const [ps, parts] = [sums.ps, sums.parts].map((values) => Array.from(values, (value) => value / nSteps));
  const works = ops.unit.flatMap((_, row) =>
    ps[row] <= 0 ? [] : [judged(roofline, row, ps[row], parts[row] / ops.parts[row])],
  );
  return works.sort((a, b) => b.ps - a.ps);
}

function knownSums({ ops }: RooflineMeta, scope: Scope): Sums {
  const [us, parts] = scope === STEADY ? [ops.step_time_us, ops.step_parts] : [ops.time_us, ops.parts];
  return { ps: us.map((one) => one * 1e6), parts };
}

function sumsOf({ ops }: RooflineMeta, occurrences: Table, range: RangePs): Sums {
  const rowOf = new Map(ops.unit.map((unit, row) => [unit, row]));
  const sums = { ps: new Float64Array(ops.unit.length), parts: new Float64Array(ops.unit.length) };
  const op = numbers(occurrences, "op");
  eachInside(occurrences, range, (i, ps, part) => {
    const row = rowOf.get(op[i]);
    if (row === undefined) return;
    sums.ps[row] += ps;
    sums.parts[row] += part;
  });
  return sums;
}

/** As `Roofline` in Python judges an op: semantics 19.3. */
function judged({ ops, bytes_per_s }: RooflineMeta, row: number, ps: number, share: number): Work {
  const flops = (ops.flops[row] ?? Number.NaN) * share;
  const bytes = (ops.bytes[row] ?? Number.NaN) * share;
  const computing = flops === 0 ? 0 : (flops / (ops.peak[row] ?? Number.NaN)) * 1e12;
  const moving = (bytes / (bytes_per_s ?? Number.NaN)) * 1e12;
  const least = Math.max(computing, moving);
  const isJudged = least > 0 && least <= ps;
  const isCached = moving > ps && !(computing > ps);
  return {
    ...{ row, ps, occurrences: ops.occurrences[row] * share },
    ...{ flopRate: (flops / ps) * 1e12, byteRate: (bytes / ps) * 1e12, intensity: flops / bytes },
    bound: isCached ? "cache" : !isJudged ? "" : computing > moving ? "compute" : "memory",
    roofRatio: isJudged ? least / ps : Number.NaN,
  };
}

/** Whether an op has a place in the chart: what computes nothing has none on axes of powers of ten. */
export function hasPlace({ flopRate, intensity }: Work): boolean {
  return flopRate > 0 && Number.isFinite(intensity);
}

const LEFT_PX = 44;
const BOTTOM_PX = 19;
const TOP_PX = 8;
const MAX_RADIUS_PX = 20;
const MIN_RADIUS_PX = 1.5;
/** Ops of one look that are nearer to each other are one circle: drawn over each other their areas would not add up. */
const SAME_PX = 5;
/** Part of the time whose outliers do not stretch an axis: they are drawn on its edge. */
const OUTLIERS = 0.02;

interface Roof {
  readonly kind: number;
  /** Float operations a second. */
  readonly peak: number;
  readonly isUsed: boolean;
}

/** A circle: an op, or several that are at one place, such as those of layers of one size. */
export interface Place extends Readonly<Record<"ps" | "x" | "y" | "radius", number>> {
  readonly works: readonly Work[];
}

class Axis {
  readonly #from: number;
  readonly #perDecade: number;

  constructor(
    readonly low: number,
    readonly high: number,
    readonly lowPx: number,
    readonly highPx: number,
  ) {
    this.#from = Math.log10(low);
    this.#perDecade = (highPx - lowPx) / (Math.log10(high) - this.#from);
  }

  toPx(value: number): number {
    const inside = Math.min(this.high, Math.max(this.low, value));
    return this.lowPx + (Math.log10(inside) - this.#from) * this.#perDecade;
  }

  get ticks(): number[] {
    const [first, last] = [Math.ceil(this.#from), Math.floor(Math.log10(this.high))];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 10 ** (first + i));
  }
}

export class Scene {
  readonly places: readonly Place[];
  /** The time of all ops, also of those without a place. */
  readonly wholePs: number;
  readonly roofs: readonly Roof[];
  /** Float operations a byte, and a second. */
  readonly x: Axis;
  readonly y: Axis;

  constructor(
    readonly roofline: RooflineMeta,
    works: readonly Work[],
    readonly width: number,
    readonly height: number,
    /** For the words behind the roofs. */
    wordsPx: number,
  ) {
    const placed = works.filter(hasPlace);
    this.wholePs = works.reduce((sum, { ps }) => sum + ps, 0);
    this.roofs = roofsOf(roofline, placed);
    const ridges = this.roofs.filter(({ isUsed }) => isUsed).map(({ peak }) => this.ridge(peak));
    const [left, right] = reach(placed, (work) => work.intensity);
    const [bottom, top] = reach(placed, (work) => work.flopRate);
    const highest = Math.max(top, ...this.roofs.map(({ peak }) => peak));
    this.x = new Axis(left / 2, Math.max(right, ...ridges) * 2, LEFT_PX, Math.max(LEFT_PX + 80, width - wordsPx));
    this.y = new Axis(bottom / 2, highest * 1.5, height - BOTTOM_PX, TOP_PX);
    const groups = this.#groups(placed);
    const mostPs = Math.max(0, ...groups.map(({ ps }) => ps));
    const largest = Math.min(MAX_RADIUS_PX, height / 10);
    this.places = groups
      .map((group) => ({ ...group, radius: Math.max(MIN_RADIUS_PX, Math.sqrt(group.ps / mostPs) * largest) }))
      .sort((a, b) => b.ps - a.ps);
  }

  /** Each op joins the first of those with more time that looks the same and is at its place. */
  #groups(works: readonly Work[]) {
    const { kind } = this.roofline.ops;
    const groups: { works: Work[]; ps: number; readonly x: number; readonly y: number }[] = [];
    for (const work of works) {
      const [x, y] = [this.x.toPx(work.intensity), this.y.toPx(work.flopRate)];
      const isSame = ({ works: [first], x: x0, y: y0 }: (typeof groups)[number]) =>
        Math.hypot(x0 - x, y0 - y) < SAME_PX && first.bound === work.bound && kind[first.row] === kind[work.row];
      const group = groups.find(isSame);
      if (group === undefined) groups.push({ works: [work], ps: work.ps, x, y });
      else {
        group.works.push(work);
        group.ps += work.ps;
      }
    }
    return groups;
  }

  /** Float operations a byte from which on a roof is what holds ops up; 0 where the memory's rate is not known. */
  ridge(peak: number): number {
    const { bytes_per_s } = this.roofline;
    return bytes_per_s === null ? 0 : peak / bytes_per_s;
  }

  /** The memory's roof from its lower to its upper end, on the axes; null where it is not known. */
  get slope(): readonly [readonly [number, number], readonly [number, number]] | null {
    const { bytes_per_s } = this.roofline;
    if (bytes_per_s === null) return null;
    const from = Math.max(this.x.low, this.y.low / bytes_per_s);
    const to = Math.min(this.x.high, (this.roofs[0]?.peak ?? this.y.high) / bytes_per_s);
    return [
      [this.x.toPx(from), this.y.toPx(from * bytes_per_s)],
      [this.x.toPx(to), this.y.toPx(to * bytes_per_s)],
    ];
  }

  /** Whether an op is drawn on an edge, as it lies beyond it. */
  get hasOutliers(): boolean {
    return this.places.some(({ works: [{ intensity, flopRate }] }) => intensity < this.x.low || flopRate < this.y.low);
  }

  /** The op at a point: of those that are drawn there the smallest, else the nearest that is near. */
  at(x: number, y: number, nearPx: number): Place | null {
    let found: Place | null = null;
    let best = nearPx;
    for (const place of this.places) {
      const beyond = Math.hypot(place.x - x, place.y - y) - place.radius;
      const distance = beyond <= 0 ? place.radius - 1e6 : beyond;
      if (distance < best) [found, best] = [place, distance];
    }
    return found;
  }
}

function roofsOf({ kinds, ops }: RooflineMeta, works: readonly Work[]): Roof[] {
  const used = new Set(works.map(({ row }) => ops.kind[row]));
  return kinds
    .flatMap(({ peak }, kind) => (peak === null ? [] : [{ kind, peak, isUsed: used.has(kind) }]))
    .sort((a, b) => b.peak - a.peak);
}

/** The least and the largest value, but for the least ones of little time. */
function reach(works: readonly Work[], value: (work: Work) => number): [number, number] {
  const sorted = works.map((work) => ({ value: value(work), ps: work.ps })).sort((a, b) => a.value - b.value);
  let left = OUTLIERS * sorted.reduce((sum, { ps }) => sum + ps, 0);
  const first = sorted.find(({ ps }) => {
    left -= ps;
    return left < 0;
  });
  return [first?.value ?? 1, sorted[sorted.length - 1]?.value ?? 1];
}

const NAMED = 2;

function formatFlops(perSecond: number): string {
  return `${formatNumber(perSecond / 1e12)} TFLOP/s`;
}

function formatBytesRate(perSecond: number): string {
  const gb = perSecond / 1e9;
  return `${gb >= 1000 ? formatCount(gb) : formatNumber(gb)} GB/s`;
}

function kindText({ kinds }: RooflineMeta, kind: number): string {
  return kinds[kind]?.text ?? "unit not known";
}

interface StepWork {
  readonly flops: number;
  readonly ps: number;
  /** Part of what the device could do meanwhile. */
  readonly mfu: number;
}

/** What a step reaches; "" where that is not known. */
function stepSentence({ flops, ps, mfu }: StepWork): string {
  if (!(flops > 0)) return "";
  const peak = formatFlops((flops / ps / mfu) * 1e12);
  const part = `${formatNumber(mfu * 100)} %`; // with a decimal up to 100 %: shares of a peak are compared
  return `${formatNumber(flops / 1e12)} TFLOP a step of ${formatTime(ps)}: ${part} of the peak of ${peak} (MFU).`;
}

function boundSentence(works: readonly Work[]): string {
  const all = sumPs(works);
  const part = (bound: Bound) => sumPs(works.filter((work) => work.bound === bound)) / all;
  const told = [
    `${formatPercent(part("memory"))} memory-bound`,
    `${formatPercent(part("compute"))} compute-bound`,
    ...(part("cache") > 0 ? [`${formatPercent(part("cache"))} served by a cache`] : []),
  ];
  return all > 0 ? `Kernel time: ${told.join(", ")}.` : "";
}

function leftOut(works: readonly Work[], roofline: RooflineMeta, isWhole: boolean): string {
  const all = sumPs(works);
  const unknown = works.filter(({ flopRate, intensity }) => Number.isNaN(flopRate) || Number.isNaN(intensity));
  const idle = works.filter(({ flopRate }) => flopRate === 0);
  const shown = sumPs(works.filter(hasPlace)) / all;
  const { n_ops, ops } = roofline;
  const parts = [
    `${formatPercent(shown)} of kernel time is shown`,
    idle.length > 0 && `${plural(idle.length, "op")} (${formatPercent(sumPs(idle) / all)}) without float operations`,
    unknown.length > 0 && `of ${plural(unknown.length, "op")} float operations or bytes are not known`,
    isWhole && n_ops > ops.unit.length && `the ${formatCount(ops.unit.length)} longest of ${formatCount(n_ops)} ops`,
  ];
  return parts.filter(Boolean).join("; ");
}

/** One op with what holds it up, or several at one place, by the one with most time. */
function placeTip(scene: Scene, { works, ps }: Place, opNames: readonly string[], isPerStep: boolean): Tip {
  const { roofline, wholePs } = scene;
  const { ops } = roofline;
  const [first] = works;
  const { row, occurrences } = first;
  const all = works.length > 1 ? `${plural(works.length, "op")} ` : "";
  const each = occurrences > 1 ? `, ${formatAmount(occurrences)} × ${formatTime(first.ps / occurrences)}` : "";
  const lines = [
    ...(all ? [named(works.map((work) => ops.name[work.row]))] : []),
    ...[named(opNames.filter((name) => name !== ops.name[row])), named(works.map((work) => ops.layer[work.row]))],
    `${formatTime(ps)}${isPerStep ? " a step" : ""}, ${formatPercent(ps / wholePs)} of kernel time${all ? "" : each}`,
    `${formatFlops(first.flopRate)} · ${formatBytesRate(first.byteRate)} · ${formatNumber(first.intensity)} FLOP/B`,
    boundText(roofline, first),
  ];
  return { title: all ? `${all}with like rates` : ops.name[row], lines: lines.filter(Boolean) };
}

function named(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const more = distinct.length - NAMED;
  return [...distinct.slice(0, NAMED), ...(more > 0 ? [`${formatCount(more)} more`] : [])].join(", ");
}

function boundText(roofline: RooflineMeta, { row, bound, roofRatio }: Work): string {
  const kind = kindText(roofline, roofline.ops.kind[row]);
  const share = `${formatPercent(roofRatio)} of its roof`;
  if (bound === "memory") return `${share}, the memory · on ${kind}`;
  if (bound === "compute") return `${share}, ${kind} ${formatFlops(roofline.ops.peak[row] ?? Number.NaN)}`;
  if (bound === "cache") return `more than the memory can: from a cache · on ${kind}`;
  return `its roof is not known · on ${kind}`;
}

function sumPs(works: readonly Work[]): number {
  return works.reduce((sum, { ps }) => sum + ps, 0);
}

const X_TITLE = "float operations a byte";
const NEAR_PX = 8;
const WORD_PX = 14;
const SLOPE_WORDS_PX = 50;
const TIP_LINE_PX = 15;
const WORD_GAP_PX = 20;

class Plot {
  readonly element = h("div.tfp-plot", { tabindex: 0, role: "listbox", "aria-multiselectable": "true" });
  readonly key = h("span");
  readonly #drawing = svg("svg", { width: "100%", height: "100%", role: "presentation" });
  readonly #tip: TipBox;
  readonly #draw: () => void;
  readonly #id = Math.random().toString(36).slice(2);
  #works: readonly Work[] = [];
  #isPerStep = false;
  #scene: Scene | null = null;
  #circles: readonly SVGElement[] = [];
  /** Where the keys are, a place of the scene; -1 nowhere. */
  #current = -1;
  #pointed: Place | null = null;

  constructor(
    readonly view: TraceView,
    readonly roofline: RooflineMeta,
  ) {
    const { signal } = view;
    this.element.append(this.#drawing);
    this.#tip = new TipBox(this.element);
    this.#draw = inFrame(() => this.#render(), signal);
    watchSize(this.element, signal, this.#draw);
    on(this.element, signal, {
      pointermove: (event) => this.#hover(this.#at(event)),
      pointerleave: () => this.#hover(null),
      click: (event) => this.#pick(this.#at(event)),
      blur: () => this.#walk(-1),
    });
    onKeys(this.element, signal, ({ key }) => this.#key(key));
  }

  show(works: readonly Work[], summary: string, isPerStep: boolean): void {
    this.#works = works;
    this.#isPerStep = isPerStep;
    this.#current = -1;
    const keys = "Arrow keys walk through the ops, most time first; Enter selects one, Escape lets go.";
    this.element.setAttribute("aria-label", `Roofline. ${summary} ${keys}`);
    this.#draw();
  }

  /** Shows what is selected, and what a pointer here or elsewhere is on. */
  mark(): void {
    const { selection, hover } = this.view.link;
    const chosen = new Set(selection);
    let isSome = false;
    const here = this.#pointed ?? this.#scene?.places[this.#current];
    this.#scene?.places.forEach((place, i) => {
      const names = this.#opsOf(place);
      const circle = this.#circles[i];
      const isChosen = names.some((name) => chosen.has(name));
      setAria(circle, "selected", isChosen);
      isSome ||= isChosen;
      circle.classList.toggle("hover", here === undefined ? names.includes(hover) : place === here);
    });
    this.element.classList.toggle("some", isSome);
  }

  #opsOf({ works }: Place): string[] {
    const { meta } = this.view.data;
    return works.map(({ row }) => opName(meta, this.roofline.ops.op[row])).filter(Boolean);
  }

  #render(): void {
    const { width, height } = this.element.getBoundingClientRect();
    // In a hidden tab there is nothing to draw in; its size is told when it is shown.
    if (width === 0) return;
    const labels = this.#labels();
    const widthOf = textWidth(this.element);
    const wordsPx =
      Math.max(...[X_TITLE, ...labels.map(({ text }) => text)].map((text) => widthOf(text))) + WORD_GAP_PX + 12;
    const scene = new Scene(this.roofline, this.#works, width, height, Math.min(wordsPx, width / 2));
    this.#scene = scene;
    this.#pointed = null;
    this.#tip.hide();
    this.#circles = scene.places.map((place, i) => this.#circle(scene, place, i));
    const isHollow = scene.places.some(({ works: [{ bound }] }) => bound === "cache");
    const keys = [isHollow && "hollow: bytes from a cache", scene.hasOutliers && "on the edge: beyond it"];
    this.key.textContent = ["area: kernel time", ...keys].filter(Boolean).join(" · ");
    const around = [...axes(scene), ...roofs(scene), ...words(scene, labels)];
    this.#drawing.replaceChildren(svg("g", { "aria-hidden": "true" }, ...around), ...this.#circles);
    this.mark();
  }

  #labels(): Label[] {
    const { kinds, ops } = this.roofline;
    const used = new Set(this.#works.filter(hasPlace).map(({ row }) => ops.kind[row]));
    const roofless = [...used].filter((kind) => kinds[kind]?.peak == null);
    const known = kinds.flatMap(({ text, peak }, kind) =>
      peak === null ? [] : [{ kind, peak, isUsed: used.has(kind), text: `${text} ${formatFlops(peak)}` }],
    );
    return [
      ...known.sort((a, b) => b.peak - a.peak),
      ...roofless.map((kind) => ({ kind, peak: null, isUsed: true, text: kindText(this.roofline, kind) })),
    ];
  }

  #circle(scene: Scene, place: Place, i: number): SVGElement {
    const { works, x, y, radius } = place;
    const { title, lines } = placeTip(scene, place, this.#opsOf(place), this.#isPerStep);
    return svg(`circle.op.k${this.roofline.ops.kind[works[0].row]}${works[0].bound === "cache" ? ".hollow" : ""}`, {
      ...{ cx: x, cy: y, r: radius, id: `tfp-op-${this.#id}-${i}`, role: "option" },
      "aria-label": [title, ...lines].join(", "),
      "data-roofline-op": this.#opsOf(place)[0],
    });
  }

  #at(event: MouseEvent): Place | null {
    const box = this.element.getBoundingClientRect();
    return this.#scene?.at(event.clientX - box.left, event.clientY - box.top, NEAR_PX) ?? null;
  }

  #hover(place: Place | null): void {
    this.#pointed = place;
    this.view.link.setHover((place && this.#opsOf(place)[0]) ?? "");
    this.#tell(place);
  }

  #tell(place: Place | null) {
    if (place === null || this.#scene === null) return this.#tip.hide();
    const tip = placeTip(this.#scene, place, this.#opsOf(place), this.#isPerStep);
    const height = (tip.lines.length + 1) * TIP_LINE_PX + TIP_LINE_PX;
    const top = Math.max(0, Math.min(place.y - height / 2, this.#scene.height - height));
    this.#tip.show(place.x + place.radius, top, tip);
  }

  #pick(place: Place | null): void {
    if (place) toggleSelection(this.view.link, this.#opsOf(place));
  }

  #walk(current: number): void {
    this.#current = current;
    const circle = this.#circles[current];
    if (circle) this.element.setAttribute("aria-activedescendant", circle.id);
    else this.element.removeAttribute("aria-activedescendant");
    this.#tell(this.#scene?.places[current] ?? null);
    this.mark();
  }

  #key(key: string): boolean {
    const last = this.#circles.length - 1;
    const now = this.#current;
    const next = {
      ...{ ArrowRight: now + 1, ArrowDown: now + 1, Home: 0, End: last },
      ...{ ArrowLeft: Math.max(0, now - 1), ArrowUp: Math.max(0, now - 1) },
    }[key];
    if (next !== undefined) this.#walk(Math.min(last, next));
    else if (key === "Enter" || key === " ") this.#pick(this.#scene?.places[now] ?? null);
    else if (key === "Escape" && this.view.link.selection.length > 0) this.view.link.setSelection([]);
    else return false;
    return true;
  }
}

interface Label {
  readonly kind: number;
  readonly peak: number | null;
  readonly isUsed: boolean;
  readonly text: string;
}

const line = (from: readonly [number, number], to: readonly [number, number]) => `M${from.join(" ")}L${to.join(" ")}`;

function axes({ x, y }: Scene): SVGElement[] {
  const text = (at: readonly [number, number], anchor: string, words: string) =>
    svg("text", { x: at[0], y: at[1], "text-anchor": anchor }, words);
  const grid = [
    ...x.ticks.map((tick) => line([x.toPx(tick), y.lowPx], [x.toPx(tick), y.highPx])),
    ...y.ticks.map((tick) => line([x.lowPx, y.toPx(tick)], [x.highPx, y.toPx(tick)])),
  ];
  return [
    svg("path.grid", { d: grid.join("") }),
    ...x.ticks.map((tick) => text([x.toPx(tick), y.lowPx + 13], "middle", formatNumber(tick, 1))),
    ...y.ticks.map((tick) => text([x.lowPx - 5, y.toPx(tick) + 4], "end", formatNumber(tick / 1e12, 1))),
    text([x.highPx + 8, y.lowPx + 13], "start", X_TITLE),
    svg("text.halo", { x: x.lowPx + 5, y: y.highPx + 6 }, "TFLOP/s"),
  ];
}

function roofs(scene: Scene): SVGElement[] {
  const { x, y, slope } = scene;
  const flat = scene.roofs.map(({ kind, peak, isUsed }) => {
    const d = line([x.toPx(scene.ridge(peak)), y.toPx(peak)], [x.highPx, y.toPx(peak)]);
    return svg(`path.roof.k${kind}${isUsed ? "" : ".unused"}`, { d });
  });
  if (slope === null) return flat;
  const [[x0, y0], [x1, y1]] = slope;
  const angle = (Math.atan2(y1 - y0, x1 - x0) * 180) / Math.PI;
  const memory = `memory ${formatBytesRate(scene.roofline.bytes_per_s ?? 0)}`;
  const at = `translate(${freest(scene, slope).join(" ")}) rotate(${angle})`;
  return [
    ...ridge(scene),
    svg("path.roof", { d: line([x0, y0], [x1, y1]) }),
    ...flat,
    svg("text.halo", { transform: at, y: -5, "text-anchor": "middle" }, memory),
  ];
}

function ridge(scene: Scene): SVGElement[] {
  const { x, y } = scene;
  const top = scene.roofs.find(({ isUsed }) => isUsed);
  if (top === undefined) return [];
  const px = x.toPx(scene.ridge(top.peak));
  return [
    svg("path.ridge", { d: line([px, y.toPx(top.peak)], [px, y.lowPx]) }),
    svg("text.halo", { x: px + 4, y: y.lowPx - 5 }, `ridge ${formatNumber(scene.ridge(top.peak))}`),
  ];
}

/** The point of the slope above which words hide least. */
function freest({ places }: Scene, [[x0, y0], [x1, y1]]: NonNullable<Scene["slope"]>): readonly [number, number] {
  const points = [0.15, 0.3, 0.45, 0.6, 0.75].map((part) => [x0 + (x1 - x0) * part, y0 + (y1 - y0) * part] as const);
  const hidden = ([x, y]: readonly [number, number]) =>
    places.reduce((sum, one) => sum + (Math.hypot(one.x - x, one.y - y) < one.radius + SLOPE_WORDS_PX ? one.ps : 0), 0);
  return points.reduce((best, point) => (hidden(point) < hidden(best) ? point : best));
}

/** Words at the ends of the roofs, apart where those are close; a line leads from each to its words. */
function words({ x, y }: Scene, labels: readonly Label[]): SVGElement[] {
  let above = Number.NEGATIVE_INFINITY;
  return labels.flatMap(({ kind, peak, isUsed, text }) => {
    const end = peak === null ? above + 1.5 * WORD_PX : y.toPx(peak);
    const at = Math.max(end, above + WORD_PX);
    above = at;
    const from = x.highPx + WORD_GAP_PX;
    const look = `k${kind}${isUsed ? "" : ".unused"}`;
    return [
      peak === null ? null : svg(`path.roof.${look}`, { d: `M${x.highPx} ${end}L${from - 4} ${at}` }),
      svg(`circle.key.${look}`, { cx: from, cy: at, r: 4 }),
      svg(isUsed ? "text.word" : "text", { x: from + 8, y: at + 4 }, text),
    ].filter((one) => one !== null);
  });
}

/** A mean over the steps in the range, of the whole capture over those that averages are over; of none zeros. */
function stepWork({ link, data }: TraceView): StepWork {
  const { step_flops = [], step_mfu = [] } = data.meta.roofline?.[0] ?? {};
  const steps = data.table("steps") ?? EMPTY_TABLE;
  const range = rangeInPs(link.timeRange, steps);
  const [first, last] = range === null ? [0, steps.n - 1] : (wholeSteps(steps, range, 1000) ?? [0, -1]);
  const duration = numbers(steps, "duration_ps");
  const isAveraged = numbers(steps, "is_averaged");
  const sums = { n: 0, flops: 0, ps: 0, done: 0 };
  for (let i = first; i <= last; i++) {
    const [flops, mfu] = [step_flops[i], step_mfu[i]];
    if (mfu === null || flops === null || (range === null && isAveraged[i] === 0)) continue;
    sums.n += 1;
    sums.flops += flops;
    sums.ps += duration[i];
    sums.done += mfu * duration[i];
  }
  const { n, flops, ps, done } = sums;
  return n === 0 ? { flops: 0, ps: 0, mfu: 0 } : { flops: flops / n, ps: ps / n, mfu: done / ps };
}

class RooflineChart {
  readonly #say = h("span.tfp-say", { role: "status" });
  readonly #rest = h("span");
  readonly #plot: Plot;

  constructor(
    readonly view: TraceView,
    readonly roofline: RooflineMeta,
  ) {
    this.#plot = new Plot(view, roofline);
    const below = h("div.tfp-h", this.#plot.key, this.#rest);
    view.root.append(h("div.tfp-fill", h("div.bar", this.#say), this.#plot.element, below));
    const mark = () => this.#plot.mark();
    follow(view, { compute: () => this.#compute(), select: mark, hover: mark });
    this.#compute();
  }

  #compute(): void {
    const { view, roofline } = this;
    const { data, link } = view;
    const { table } = data;
    const isWhole = link.timeRange === null && data.of === "";
    // Of one host nothing but its executions is known.
    const scope = isWhole ? scopeOf(link, table) : rangeInPs(link.timeRange, table("steps"));
    const nSteps = stepsOfScope(table("steps"), scope);
    const works = workOf(roofline, isWhole ? undefined : (table("occurrences") ?? EMPTY_TABLE), scope, nSteps ?? 1);
    const step = stepSentence(stepWork(view));
    const words = [step, boundSentence(works)].filter(Boolean);
    say(this.#say, h("b", words[0] ?? "No op ran on a GPU in this range."), ` ${words.slice(1).join(" ")}`);
    say(this.#rest, works.length > 0 ? leftOut(works, roofline, isWhole) : "");
    this.#plot.show(works, words.join(" "), nSteps !== null);
  }
}

const NOT_KNOWN =
  "Ops ran on a GPU, but the capture does not tell both the float operations and the bytes of any: a program that XLA compiled tells them.";
const NO_GPU =
  "A roofline sets what kernels of a GPU compute and move against what it could. The Ops view has the time of all ops.";

function nothing({ data, signal }: TraceView): HTMLElement {
  const reduced = notReduced(data.meta, "roofline");
  if (reduced) return emptyState("No roofline of a reduced profile", reduced, "", signal);
  if (data.meta.roofline === undefined) return emptyState("No kernel of a GPU in this capture", NO_GPU, "", signal);
  const code = COMPILE_CODE[frameworkOf(data.meta)];
  const why = `${NOT_KNOWN}${code && " Have XLA compile the training step:"}`;
  return emptyState("No roofline: what the ops compute is not known", why, code, signal);
}

export const rooflineChart: TraceBuilder = {
  name: "roofline_chart",
  build(view) {
    const roofline = view.data.meta.roofline?.[0];
    if (roofline && workOf(roofline, undefined, null).some(hasPlace)) new RooflineChart(view, roofline);
    else view.root.append(nothing(view));
  },
  needs: ["roofline", "steps"],
  forRange: ["occurrences"],
  forHost: ["occurrences"],
  about: "ops",
};
