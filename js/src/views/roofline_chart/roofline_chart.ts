/** The roofline of the linked time range: a circle for each op, to be pointed at and walked through. */

import { numbers } from "../../data/columns";
import type { RooflineMeta } from "../../data/meta";
import { REDUCED } from "../../data/one_host";
import { EMPTY_TABLE } from "../../data/pack";
import { COMPILE_CODE, frameworkOf } from "../../model/overview";
import { rangeInPs, scopeOf, stepsOfScope, wholeSteps } from "../../model/range";
import { formatNumber } from "../../model/text";
import { emptyState, h, inFrame, on, onKeys, setAria, svg, textWidth, watchSize } from "../../ui/dom";
import { createTip, type TipBox } from "../../ui/plot";
import { follow, type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";
import {
  boundSentence,
  formatBytesRate,
  formatFlops,
  hasPlace,
  kindText,
  leftOut,
  type Place,
  placeTip,
  Scene,
  type StepWork,
  stepSentence,
  type Work,
  workOf,
} from "./roofline";

const X_TITLE = "float operations a byte";
const NEAR_PX = 8;
const WORD_PX = 14;
/** Half the length of the words along the memory's roof. */
const SLOPE_WORDS_PX = 50;
const TIP_LINE_PX = 15;
/** From the end of a roof to its words. */
const WORD_GAP_PX = 20;

class Plot {
  readonly element = h("div.tfp-plot", {
    tabindex: 0,
    role: "listbox",
    "aria-multiselectable": "true",
  });
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
    this.#tip = createTip(this.element);
    this.#draw = inFrame(() => this.#render(), signal);
    watchSize(this.element, this.#draw, signal);
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
    const here = this.#pointed ?? this.#scene?.places[this.#current];
    this.#scene?.places.forEach((place, i) => {
      const names = this.#opsOf(place);
      const circle = this.#circles[i];
      setAria(
        circle,
        "selected",
        names.some((name) => chosen.has(name)),
      );
      circle.classList.toggle("hover", here === undefined ? names.includes(hover) : place === here);
    });
    this.element.classList.toggle(
      "some",
      this.#circles.some((one) => one.getAttribute("aria-selected") === "true"),
    );
  }

  #opsOf({ works }: Place): string[] {
    const { meta } = this.view.data;
    return works.map(({ row }) => meta.names[meta.op_name[this.roofline.ops.op[row]]]).filter(Boolean);
  }

  #render(): void {
    const { width, height } = this.element.getBoundingClientRect();
    // In a hidden tab there is nothing to draw in; its size is told when it is shown.
    if (width === 0) return;
    const labels = this.#labels();
    const widthOf = textWidth(this.element);
    const wordsPx = Math.max(...[X_TITLE, ...labels.map(({ text }) => text)].map(widthOf)) + WORD_GAP_PX + 12;
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

  #tell(place: Place | null): void {
    if (place === null || this.#scene === null) {
      this.#tip.hide();
      return;
    }
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
    view.root.append(
      h("div.tfp-fill", h("div.bar", this.#say), this.#plot.element, h("div.tfp-h", this.#plot.key, this.#rest)),
    );
    follow(view, {
      compute: () => this.#compute(),
      select: () => this.#plot.mark(),
      hover: () => this.#plot.mark(),
    });
    this.#compute();
  }

  #compute(): void {
    const { view, roofline } = this;
    const { data, link } = view;
    const table = (name: string) => data.table(name);
    const isWhole = link.timeRange === null && link.host === "";
    // Of one host nothing but its executions is known.
    const scope = isWhole ? scopeOf(link, table) : rangeInPs(link.timeRange, table("steps"));
    const nSteps = stepsOfScope(table("steps"), scope);
    const works = workOf(roofline, isWhole ? undefined : (table("occurrences") ?? EMPTY_TABLE), scope, nSteps ?? 1);
    const step = stepSentence(stepWork(view));
    const words = [step, boundSentence(works)].filter(Boolean);
    this.#say.replaceChildren(h("b", words[0] ?? "No op ran on a GPU in this range."), ` ${words.slice(1).join(" ")}`);
    this.#say.title = this.#say.textContent ?? "";
    this.#rest.textContent = works.length > 0 ? leftOut(works, roofline, isWhole) : "";
    this.#rest.title = this.#rest.textContent;
    this.#plot.show(works, words.join(" "), nSteps !== null);
  }
}

const NOT_KNOWN =
  "Ops ran on a GPU, but the capture does not tell both the float operations and the bytes of any: a program that XLA compiled tells them.";
const NO_GPU =
  "A roofline sets what kernels of a GPU compute and move against what it could. The Ops view has the time of all ops.";

function nothing({ data, signal }: TraceView): HTMLElement {
  if (data.meta.is_reduced) return emptyState("No roofline of a reduced profile", REDUCED.roofline, "", signal);
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
