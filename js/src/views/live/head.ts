/** Figures of a training -> its first lines: what it is doing, how long a step takes, and whether something stands out. */

import { formatAny, formatCount, formatMs, formatNumber, formatPercent } from "../../model/text/format";
import { h } from "../../ui/dom";
import { legendEntry, swatch } from "../../ui/legend";
import { clockText } from "./axes";
import type { Known, LiveHead, LiveState } from "./payload";
import { anomalyCount, known, newestFirst } from "./words";

const STATES: Readonly<Record<LiveHead["state"], string>> = {
  running: "● Running",
  ended: "■ Ended",
  failed: "▲ Failed",
  interrupted: "■ Interrupted",
  lost: "▲ Lost",
};

type Figure = readonly [value: Known, say: (value: number) => string, what: string];

export class Head {
  readonly element: HTMLElement;
  /** What lines and areas mean, with what they are now. */
  readonly legend = h("div.keys");
  readonly #title = h("b.cut");
  readonly #state = h("span.state", { role: "status" });
  readonly #figures = h("div.figures");
  readonly #verdict = h("p", { role: "status" });

  constructor() {
    this.element = h("div", h("div.line", this.#title, this.#state), this.#figures, this.#verdict);
  }

  show(state: LiveState): void {
    const { head } = state;
    this.#title.textContent = head.title;
    this.#figures.replaceChildren(...figures(head));
    this.#verdict.className = head.anomalies.some(({ goes_on }) => goes_on) ? "verdict on" : "verdict";
    setText(this.#verdict, verdict(state));
    this.legend.replaceChildren(...legend(state));
  }

  /** What the training does; `silence` says how long it has not been heard. */
  say({ state }: LiveHead, silence: string): void {
    this.#state.classList.toggle("bad", silence !== "" || STATES[state].startsWith("▲"));
    setText(this.#state, silence ? `▲ Not heard: ${silence}` : STATES[state]);
  }
}

/** What is spoken when it changes is written only then. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function figures(head: LiveHead): HTMLElement[] {
  const of = known(head.epochs) ? ` of ${formatCount(head.epochs)}` : "";
  const all: Figure[] = [
    [head.step_ms, formatMs, `a step, median of the last 20${head.batches ? `; ${head.batches}` : ""}`],
    [head.steps_per_s, formatNumber, "steps a second"],
    [head.wait_ratio, formatPercent, "waits for data"],
    [head.outside_ratio, formatPercent, "outside computing"],
    [head.loss, formatAny, "loss"],
    [head.epoch, (epoch) => formatCount(epoch) + of, "epoch"],
    [head.n_steps, formatCount, head.n_steps === 1 ? "step" : "steps"],
    [head.elapsed_s, clockText, "since the start"],
  ];
  const shown = all.filter(([value]) => known(value) && head.n_steps > 0);
  return shown.map(([value, say, what]) => h("div.tfp-fig", h("div.n", say(value as number)), h("div.d", what)));
}

/** The newest anomaly that goes on; else how many there were. */
function verdict({ head: { anomalies, state }, run }: LiveState): string {
  const [newest] = newestFirst(anomalies);
  if (newest?.goes_on) return newest.title;
  const soFar = state === "running" ? " so far" : "";
  if (newest) return `${anomalyCount(anomalies.length)}${soFar}; none goes on.`;
  return run.nBins > 0 ? `No anomaly${soFar}.` : "";
}

function legend({ head, run }: LiveState): HTMLElement[] {
  const has = (name: "p95_ms" | "wait_ms" | "outside_ms") => run[name].some(Number.isFinite);
  const hasMark = (kind: string) => head.marks.some((mark) => mark.kind === kind);
  const share = (ratio: Known) =>
    known(ratio) && known(head.step_ms) ? ` ${formatMs(ratio * head.step_ms)}, ${formatPercent(ratio)}` : "";
  const all: [isShown: boolean, look: string, words: string][] = [
    [true, "mean", "mean"],
    [has("p95_ms"), "p95", "95th percentile"],
    [true, "band", "min to max"],
    [has("wait_ms"), "c-input", `waits for data${share(head.wait_ratio)}`],
    [has("outside_ms"), "c-other", `outside computing${share(head.outside_ratio)}`],
    [hasMark("anomaly"), "odd", "anomaly"],
    [hasMark("validation"), "c-output", "validation"],
    [hasMark("checkpoint"), "c-checkpoint", "checkpoint"],
  ];
  const shown = all.filter(([isShown]) => isShown);
  return shown.map(([, look, words]) =>
    legendEntry(look.startsWith("c-") ? swatch(`var(--${look})`) : h(`i.sw.${look}`), words),
  );
}
