/** Steps and input ops -> the share of each step that waited for data, and what the host's input time went into. */

import { type InputPart, inputOps, inputParts, inputShares, inputWait, keepsUp } from "../../model/input/input_ops";
import { formatMs, formatNumber, formatPercent, plural } from "../../model/text/format";
import { stepsOfScope } from "../../model/time/scope";
import { stepLabel, stepsOfRange, stepWords } from "../../model/time/span_text";
import { countedSteps, type Statistics, statisticsOf } from "../../model/time/statistics";
import { niceTicks, timeOfSteps } from "../../model/time/step_bars";
import type { RangePs } from "../../model/time/viewport";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { h, svg } from "../../ui/dom";
import { swatch } from "../../ui/legend";
import { inFrame, watchSize } from "../../ui/page";
import { createTip, watchPlot } from "../../ui/plot";
import type { TraceView } from "../../ui/view";
import type { InputScene } from "./scene";
import { CATEGORY_ORDER, categoryWords } from "./words";

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
    const tip = createTip(this.#strip);
    const step = (x: number) => this.#stepAt(x);
    watchPlot(
      this.#strip,
      {
        onHover: (x) => this.#hover(x, tip),
        onLeave: () => tip.hide(),
        onClick: (x) => this.#choose(step(x), step(x)),
        onDrag: () => undefined,
        onDragEnd: (x0, x1) => this.#choose(step(Math.min(x0, x1)), step(Math.max(x0, x1))),
      },
      view.signal,
    );
    const redraw = inFrame(() => this.#draw(), view.signal);
    watchSize(this.#strip, redraw, view.signal);
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
    const words = [
      h(
        "b",
        `Waiting for data: ${formatPercent(inputWait(this.#steps, this.#range)?.ratio ?? 0)} of ${plural(share.n, "step")}`,
      ),
      `${each} · step time ${spread(formatMs, time)}`,
    ];
    const line = h("span.tfp-say", { role: "status" }, ...words);
    line.title = line.textContent ?? "";
    this.#stepWords.replaceChildren(line);
  }

  /** Of the strip beside its axis, px. */
  get #room(): number {
    return Math.max(120, (this.#strip.clientWidth || 800) - AXIS_PX - 4);
  }

  /** Of all bars, px. */
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
    const parts: SVGElement[] = ticks.flatMap((tick) => [
      svg("path.grid", { d: `M${AXIS_PX} ${y(tick)}h${this.#room}` }),
      svg(
        "text",
        { x: AXIS_PX - 4, y: y(tick) + 4, "text-anchor": "end" },
        tick === 0 ? "" : `${formatNumber(tick, tick < 10 ? 1 : 2)} %`,
      ),
    ]);
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
    link.setTimeRange(isChosen ? null : next);
    link.setStep(isChosen || first !== last ? -1 : first);
  }

  #hover(px: number, tip: ReturnType<typeof createTip>): void {
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

/** One bar of all categories, their figures, and what to do about the largest, unless steps hardly wait. */
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
