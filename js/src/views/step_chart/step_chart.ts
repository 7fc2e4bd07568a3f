/** The steps of a trace -> one stacked bar a step; a click chooses a step, a drag a range of them. */

import { frameworkOf, MARK_STEPS_CODE, unrecordedWords } from "../../model/overview/framework";
import { stepsOfRange } from "../../model/time/span_text";
import {
  barOf,
  chartTop,
  MAX_BARS,
  type StepBars,
  stepBars,
  stepToBarAxis,
  timeOfSteps,
  timeToStepAxis,
} from "../../model/time/step_bars";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE, type Table } from "../../model/wire/wire";
import { type Chart, createChart } from "../../ui/bokeh";
import { emptyState, h, onKeys, unspoken } from "../../ui/dom";
import type { OfHost } from "../../ui/of_host";
import { inFrame, paced, watchSize } from "../../ui/page";
import { createTip, drawLabels, watchPlot } from "../../ui/plot";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { paintSteps, stepLabels } from "./paint";
import { barTip, spoken, summary } from "./words";

const NO_STEPS_REASON =
  "Nothing in this capture repeats like a training step: no step marker, no repeated traced function, no iterator call. Mark the steps of your loop:";

class StepChart {
  readonly #plot: HTMLElement;
  readonly #labels = unspoken("div.tfp-labels");
  /** The sides of the range, on top of the bars. */
  readonly #edges = h("div.tfp-edges", { hidden: true });
  #steps: Table;
  #bars: StepBars;
  /** Where a keyboard range began. */
  #anchor = -1;
  /** The rows that were chosen here, and their time: steps of several hosts overlap, so the time does not tell the rows. */
  #choice: { rows: readonly [number, number]; range: readonly [number, number] } | null = null;
  #chart: Chart | null = null;
  #redraw: () => void = () => undefined;

  constructor(readonly view: TraceView) {
    const { signal, data, link } = view;
    this.#steps = data.table("steps") ?? EMPTY_TABLE;
    this.#bars = stepBars(this.#steps, data.meta.categories, MAX_BARS);
    this.#plot = h("div.tfp-plot", {
      tabindex: 0,
      role: "slider",
      "aria-label": summary(data.meta, this.#steps.n),
      "aria-valuemin": 0,
      "aria-valuemax": this.#steps.n - 1,
    });
    const isInferred = this.#steps.n > 0 && numbers(this.#steps, "source")[0] === 1;
    const head = h("span", h("b", "Every step"), isInferred ? ", ms · inferred, not marked" : ", ms");
    view.root.append(h("div.tfp-h", head, h("span", "click a bar: that step · drag: a range")), this.#plot);
    const update = paced(() => this.#showRange(), signal);
    // The chart draws itself anew for the wash, which takes it as long as a frame: that waits until a drag rests.
    const wash = paced(
      () => this.#showWash(),
      signal,
      () => true,
    );
    const onRange = () => {
      update();
      wash();
    };
    link.on("time_range", onRange, signal);
    link.on("step", update, signal);
    data.onTables(() => this.#read(), signal, ["steps"]);
    onKeys(this.#plot, signal, (event) => this.#key(event)); // which can have the focus before its bars are drawn
    this.#sayStep();
  }

  /** The steps of another host. */
  #read(): void {
    const { data } = this.view;
    const steps = data.table("steps") ?? EMPTY_TABLE;
    if (steps === this.#steps || steps.n === 0) return;
    this.#steps = steps;
    this.#bars = stepBars(steps, data.meta.categories, MAX_BARS);
    this.#anchor = -1;
    this.#choice = null;
    this.#plot.setAttribute("aria-label", summary(data.meta, steps.n));
    this.#plot.setAttribute("aria-valuemax", String(steps.n - 1));
    this.#sayStep();
    this.#draw();
  }

  async build(): Promise<void> {
    const { view } = this;
    const tip = createTip(this.#plot);
    this.#chart = await createChart(view, this.#plot);
    this.#plot.append(this.#edges, this.#labels);
    this.#redraw = inFrame(() => this.#draw(), view.signal);
    view.onTheme(this.#redraw);
    watchSize(this.#plot, this.#redraw, view.signal);
    watchPlot(
      this.#plot,
      {
        onHover: (x) => this.#hover(x, tip),
        onLeave: () => {
          tip.hide();
          this.#chart?.get("hover").setv({ visible: false });
        },
        onClick: (x) => this.#click(x),
        onDrag: (x0, x1) => this.#drag(x0, x1),
        onDragEnd: (x0, x1) => this.#drag(x0, x1),
      },
      view.signal,
    );
    this.#draw();
  }

  /** Runs at the first paint and after a change of size or theme. */
  #draw(): void {
    const chart = this.#chart;
    if (chart === null) return;
    const { data, root, signal } = this.view;
    const frame = chart.frame();
    const width = Math.max(1, Math.round(frame.right - frame.left));
    this.#bars = stepBars(this.#steps, data.meta.categories, this.#steps.n > MAX_BARS ? width : MAX_BARS);
    const scene = { meta: data.meta, steps: this.#steps, bars: this.#bars, top: chartTop(this.#steps), width };
    paintSteps(chart, scene, root);
    // Bokeh lays out in a later frame; the words go where its frame is then.
    const words = () => {
      if (signal.aborted) return;
      const now = chart.frame();
      if (Math.round(now.right - now.left) !== width) this.#redraw();
      this.#showRange();
      this.#showWash();
      drawLabels(this.#labels, stepLabels(chart, scene));
    };
    requestAnimationFrame(this.view.guard(words));
  }

  /** Left and right on the axis of the bars. */
  get #sides(): readonly [number, number] | null {
    const range = this.view.link.timeRange;
    if (range === null || this.#chart === null) return null;
    const side = (ns: number) => stepToBarAxis(this.#bars, timeToStepAxis(this.#steps, ns * 1000));
    return [side(range[0]), side(range[1])];
  }

  #showRange(): void {
    this.#sayStep();
    const sides = this.#sides;
    this.#edges.hidden = this.view.link.timeRange === null;
    if (sides === null || this.#chart === null) return;
    const [x0, x1] = sides.map((side) => Math.round(this.#chart?.xToPx(side) ?? 0));
    this.#edges.style.left = `${x0}px`;
    this.#edges.style.width = `${Math.max(2, x1 - x0)}px`;
    this.#edges.style.height = `${this.#chart.frame().bottom}px`;
  }

  #showWash(): void {
    const sides = this.#sides;
    const [left, right] = sides ?? [0, 0];
    this.#chart?.get("range").setv(sides === null ? { visible: false } : { left, right, visible: true });
  }

  #rowAt(px: number, side: -1 | 0 | 1): number {
    const x = this.#chart?.toX(px) ?? 0;
    const bar = Math.max(0, Math.min(this.#bars.n - 1, Math.floor(x)));
    return side > 0 ? this.#bars.first[bar + 1] - 1 : this.#bars.first[bar];
  }

  #drag(x0: number, x1: number): void {
    this.#choose(this.#rowAt(Math.min(x0, x1), -1), this.#rowAt(Math.max(x0, x1), 1));
  }

  #choose(a: number, b: number): void {
    const [first, last] = a <= b ? [a, b] : [b, a];
    const range = timeOfSteps(this.#steps, first, last);
    this.#choice = { rows: [first, last], range };
    this.view.link.setTimeRange(range);
    this.view.link.setStep(first === last ? first : -1);
  }

  #click(px: number): void {
    const [first, last] = [this.#rowAt(px, -1), this.#rowAt(px, 1)];
    const chosen = this.#chosen();
    if (chosen !== null && chosen[0] === first && chosen[1] === last) this.#clear();
    else this.#choose(first, last);
    this.#anchor = first;
  }

  #clear(): void {
    this.view.link.setTimeRange(null);
    this.view.link.setStep(-1);
  }

  #chosen(): readonly [number, number] | null {
    const range = this.view.link.timeRange;
    if (range === null) return null;
    const { rows, range: own } = this.#choice ?? {};
    if (rows !== undefined && own?.[0] === range[0] && own[1] === range[1]) return rows;
    return stepsOfRange(this.#steps, [range[0] * 1000, range[1] * 1000]);
  }

  #key(event: KeyboardEvent): boolean {
    const chosen = this.#chosen();
    if (event.key === "Escape") {
      if (this.view.link.timeRange !== null) this.#clear();
      else this.#plot.blur();
    } else {
      const move = {
        ArrowRight: 1,
        ArrowUp: 1,
        ArrowLeft: -1,
        ArrowDown: -1,
        Home: -this.#steps.n,
        End: this.#steps.n,
      }[event.key];
      if (move === undefined) return false;
      const clamp = (row: number) => Math.max(0, Math.min(this.#steps.n - 1, row));
      if (chosen === null) this.#anchor = -1;
      const anchor = this.#anchor >= 0 ? this.#anchor : (chosen?.[0] ?? 0);
      const head = chosen === null ? -1 : chosen[0] === anchor ? chosen[1] : chosen[0];
      const next = clamp(head < 0 ? (move > 0 ? 0 : this.#steps.n - 1) : head + move);
      this.#anchor = event.shiftKey && chosen !== null ? anchor : next;
      this.#choose(this.#anchor, next);
    }
    return true;
  }

  #hover(px: number, tip: ReturnType<typeof createTip>): void {
    const bar = barOf(this.#bars, this.#rowAt(px, 0));
    this.#chart?.get("hover").setv({ left: bar, right: bar + 1, visible: true });
    tip.show(px, 14, barTip(this.view.data.meta, this.#bars, bar));
  }

  #sayStep(): void {
    const chosen = this.#chosen();
    this.#plot.setAttribute("aria-valuenow", String(chosen?.[0] ?? 0));
    this.#plot.setAttribute("aria-valuetext", spoken(this.view.data.meta, this.#steps, chosen));
  }
}

const STEPS_OF_HOST: OfHost = {
  follows: true,
  isEmpty: (data) => data.nRows("steps") === 0,
  emptyWords: "has no steps",
};

export const stepChart: TraceBuilder = {
  name: "step_chart",
  async build(view) {
    if ((view.data.table("steps") ?? EMPTY_TABLE).n === 0) {
      const instead = unrecordedWords(view.data.meta);
      const code = instead ? "" : MARK_STEPS_CODE[frameworkOf(view.data.meta)];
      view.root.append(emptyState("No steps in this capture", instead || NO_STEPS_REASON, code, view.signal));
      return;
    }
    await new StepChart(view).build();
  },
  needs: ["steps"],
  ofHost: STEPS_OF_HOST,
};
