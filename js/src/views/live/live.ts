/** How the steps of a running training do, what stood out, and the windows that were profiled. */

import { type AnyModel, atEnd, within } from "../../data/widget";
import { formatAny, formatCount, formatMs, formatNumber, formatPercent } from "../../model/text";
import { button, copyButton, emptyState, h, inFrame } from "../../ui/dom";
import { legendEntry, swatch } from "../../ui/share_bar";
import { renderWidget, type View, type ViewBuilder } from "../../ui/view";
import { LiveChart, renew } from "./chart";
import {
  type Anomaly,
  anomalyCount,
  clockText,
  type Known,
  known,
  type LiveHead,
  type LiveState,
  newestFirst,
  type ProfileWindow,
  readState,
  stepsText,
  windowTitle,
  windowWords,
} from "./training";

const ASK_MS = 2000;

class Answers {
  /** Whether an answer came while the cell ran. */
  isHeard = false;
  /** Each view has its own: all of a widget get every answer, and not all of them are heard. */
  readonly #name = Math.random().toString(36).slice(2);
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly model: AnyModel,
    onHeard: () => void,
    signal: AbortSignal,
  ) {
    const hear = (message: unknown) => {
      const { kind, view } = (message ?? {}) as { kind?: unknown; view?: unknown };
      if (kind !== "hello" || view !== this.#name || this.isHeard) return;
      this.isHeard = true;
      onHeard();
    };
    model.on("msg:custom", hear);
    signal.addEventListener("abort", () => model.off("msg:custom", hear));
  }

  /** Asks, where no answer came and the last question is some time ago. */
  ask(now: number): void {
    if (this.isHeard || now - this.#askedAt < ASK_MS) return;
    this.#askedAt = now;
    this.model.send({ kind: "hello", view: this.#name });
  }
}

/** A training that is heard at all is heard several times a second. */
const SILENT_MS = 5000;

export class Heard {
  #last: number;
  #n = 0;

  constructor(readonly clock: () => number = () => performance.now()) {
    this.#last = clock();
  }

  note(): void {
    this.#last = this.clock();
    this.#n += 1;
  }

  /** "" while the training is heard, or is not said to run. */
  words({ state, now_ns }: LiveHead): string {
    const silentMs = this.clock() - this.#last;
    if (state !== "running" || silentMs < SILENT_MS) return "";
    const s = Math.floor(silentMs / 1000);
    const ago = s < 120 ? `${s} s` : `${Math.floor(s / 60)} min`;
    if (this.#n > 0) return `last heard ${ago} ago`;
    // The one language whose dates are written from the year down.
    const when = now_ns === null ? "" : ` What is shown is of ${new Date(now_ns / 1e6).toLocaleString("sv")}.`;
    return `not heard in the ${ago} since this was opened.${when}`;
  }
}

const STATES: Readonly<Record<LiveHead["state"], string>> = {
  running: "● Running",
  ended: "■ Ended",
  failed: "▲ Failed",
  interrupted: "■ Interrupted",
  lost: "▲ Lost",
};

type Figure = readonly [value: Known, say: (value: number) => string, what: string];

class Head {
  readonly element: HTMLElement;
  /** What lines and areas mean, with what they are now. */
  readonly legend = h("div.keys");
  readonly #title = h("b.cut");
  readonly #state = h("span.state.fix", { role: "status" });
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

  say({ state }: LiveHead, silence: string): void {
    this.#state.classList.toggle("bad", silence !== "" || STATES[state].startsWith("▲"));
    setText(this.#state, silence ? `▲ Not heard: ${silence}` : STATES[state]);
  }
}

/** What is spoken when it changes is written only then. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** From so long on, and so many times what a step takes, it is said how long no step has ended. */
const [QUIET_S, QUIET_STEPS] = [2, 3];

function figures(head: LiveHead): HTMLElement[] {
  const all: Figure[] = [
    [head.step_ms, formatMs, `a step, median of the last 20${head.batches ? `; ${head.batches}` : ""}`],
    [head.steps_per_s, formatNumber, "steps a second, mean of these"],
    [head.wait_ratio, formatPercent, "waits for data"],
    [head.outside_ratio, formatPercent, "outside computing"],
    [head.loss, formatAny, "loss"],
    [head.epoch, formatCount, "epoch"],
    [head.n_steps, formatCount, head.n_steps === 1 ? "step" : "steps"],
    [head.elapsed_s, clockText, "since the start"],
  ];
  const { quiet_s, step_ms, state } = head;
  const isQuiet =
    state === "running" && known(quiet_s) && quiet_s > Math.max(QUIET_S, (QUIET_STEPS * (step_ms ?? 0)) / 1e3);
  if (isQuiet) all.unshift([quiet_s, clockText, "since the last step: between epochs, or a long one"]);
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
  ];
  const shown = all.filter(([isShown]) => isShown);
  return shown.map(([, look, words]) =>
    legendEntry(look.startsWith("c-") ? swatch(`var(--${look})`) : h(`i.sw.${look}`), words),
  );
}

const N_CARDS = 4;

function drawCards(
  element: HTMLElement,
  { anomalies, windows }: LiveHead,
  onWindow: (index: number) => void,
  signal: AbortSignal,
): void {
  const all = newestFirst(anomalies);
  const ready = windows.filter(({ state }) => state === "ready").map(({ index }) => index);
  const card = ({ title, evidence, severity, first_step, last_step, window, goes_on }: Anomaly) => {
    const isReady = window !== null && ready.includes(window);
    const show = isReady && button(`Show window ${window}`, () => onWindow(window), signal, { class: "link" });
    const when = h("span.q", `${stepsText(first_step, last_step, goes_on)}${goes_on ? ", goes on" : ""}`);
    return h("li", { class: severity }, h("b", title), h("p.q", evidence), h("p.small", when, show));
  };
  const list = (some: readonly Anomaly[]) => h("ul", ...some.map(card));
  element.hidden = all.length === 0;
  renew(element, [all, ready], () => {
    const more = all.slice(N_CARDS);
    const rest = more.length > 0 && h("details", h("summary", `${formatCount(more.length)} more`), list(more));
    return [h("b", "Anomalies"), list(all.slice(0, N_CARDS)), ...(rest ? [rest] : [])];
  });
}

const N_ASKED = 10;

class Windows {
  readonly element = h("section.windows", { "aria-label": "Profiled windows" });
  readonly place = h("div.opened", { hidden: true });
  opened: number | null = null;
  readonly #chips = h("span");
  readonly #next = h("span");
  readonly #asked = h("span.q", { role: "status" });
  #head: LiveHead | null = null;
  #ref: unknown = null;
  #drawn: AbortController | null = null;

  constructor(
    readonly view: View,
    readonly onOpened: () => void,
  ) {
    this.element.append(h("b", "Profiled"), this.#chips, this.#next, this.#asked);
  }

  show(head: LiveHead): void {
    const { windows, state, trigger_file, can_ask, budget } = head;
    const isOn = state === "running";
    if (windows.length !== this.#head?.windows.length) this.#asked.textContent = "";
    this.#head = head;
    this.element.hidden = windows.length === 0 && !(isOn && (trigger_file || can_ask));
    renew(this.#chips, [windows, this.opened], () =>
      windows.length > 0 ? windows.map((one) => this.#chip(one)) : [h("span.q", "no window yet")],
    );
    renew(this.#next, [isOn, trigger_file, can_ask, budget], () => (isOn ? this.#ways(head) : []));
    if (this.opened !== null && this.#refOf(this.opened) !== this.#ref) this.#draw();
  }

  toggle(index: number): void {
    const isReady = this.#head?.windows.some((one) => one.index === index && one.state === "ready");
    this.opened = this.opened === index || !isReady ? null : index;
    this.#draw();
    if (this.#head) this.show(this.#head);
    this.onOpened();
  }

  #chip(one: ProfileWindow): HTMLElement {
    const { index, state } = one;
    const words = windowWords(one);
    const says = { "data-key": index, disabled: state !== "ready", title: words };
    const isOpen = state === "ready" && String(index === this.opened);
    const toggle = () => this.toggle(index);
    const attributes = { ...says, class: "chip", "aria-expanded": isOpen };
    return button(windowTitle(one), toggle, this.view.signal, attributes, h("span.q", words));
  }

  #ways({ trigger_file, can_ask, budget }: LiveHead): HTMLElement[] {
    const { signal, model } = this.view;
    const ask = () => {
      model.send({ kind: "capture", n: N_ASKED });
      this.#asked.textContent = "asked for";
    };
    // As a shell takes any path.
    const command = `touch '${trigger_file.replaceAll("'", "'\\''")}'`;
    const byFile = () => [
      h("span.q", "To profile the next steps:"),
      h("code.cut", { title: command }, command),
      copyButton("Copy", () => command, signal),
    ];
    return [
      h("span.q", budget),
      ...(can_ask ? [button(`Profile the next ${N_ASKED} steps`, ask, signal)] : []),
      ...(trigger_file ? byFile() : []),
    ];
  }

  #refOf(index: number | null): unknown {
    const ready = this.#head?.windows.filter(({ state }) => state === "ready") ?? [];
    const opened = this.view.model.get("opened");
    return (Array.isArray(opened) && opened[ready.findIndex((one) => one.index === index)]) || null;
  }

  #draw(): void {
    this.#drawn?.abort();
    this.place.replaceChildren();
    const { opened: index, view } = this;
    const shown = this.#head?.windows.find((one) => one.index === index);
    this.place.hidden = shown === undefined;
    this.#ref = this.#refOf(index);
    if (shown === undefined || index === null) return;
    this.#drawn = within(view.signal);
    const { signal } = this.#drawn;
    const close = button("Close", () => this.toggle(index), signal);
    const about = { role: "region", "aria-label": "Opened window" };
    const bar = h("div.tfp-host-bar", about, h("b", windowTitle(shown)), close);
    const place = h("div");
    this.place.append(bar, place);
    if (this.#ref === null)
      place.textContent = "Its dashboard is not here: a page that was exported holds the steps alone.";
    else void renderWidget({ host: view.host, signal }, this.#ref, "window", place);
    bar.scrollIntoView?.({ block: "nearest" });
  }
}

const LOOK_MS = 1000;
const TRAITS = ["head", "bins", "samples", "opened"] as const;

class Live {
  readonly #heard = new Heard();
  readonly #head = new Head();
  readonly #notices = h("div");
  readonly #foot = h("p.foot.q.small");
  readonly #body: HTMLElement;
  readonly #empty = h("div.none");
  readonly #chart: LiveChart;
  readonly #cards = h("section.odd", { "aria-label": "Anomalies" });
  readonly #windows: Windows;
  readonly #answers: Answers;
  #state: LiveState;

  readonly #toggle = (index: number) => this.#windows.toggle(index);

  constructor(readonly view: View) {
    const { signal, root, model, guard } = view;
    this.#chart = new LiveChart(view, this.#toggle);
    this.#windows = new Windows(view, () => this.#chart.show(this.#state, this.#windows.opened));
    const head = h("div.bar", h("b", "Every step"), this.#head.legend);
    const steps = h("section.steps", { "aria-label": "Steps" }, head, this.#chart.element);
    this.#body = h("div.body", steps, this.#cards);
    const { element: windows, place } = this.#windows;
    root.append(this.#notices, this.#head.element, this.#empty, this.#body, windows, this.#foot, place);
    this.#state = readState(model);
    const onHeard = guard(() => this.#showWindows());
    this.#answers = new Answers(model, onHeard, signal);
    const update = inFrame(() => this.#read(), signal);
    const hear = guard(() => {
      this.#heard.note();
      update();
    });
    for (const trait of TRAITS) model.on(`change:${trait}`, hear);
    const watch = guard(() => this.#look());
    const look = setInterval(watch, LOOK_MS);
    atEnd(signal, () => {
      clearInterval(look);
      for (const trait of TRAITS) model.off(`change:${trait}`, hear);
    });
    this.#show();
  }

  #read(): void {
    this.#state = readState(this.view.model);
    this.#show();
  }

  #show(): void {
    const { head, run } = this.#state;
    const isEmpty = run.nSteps === 0;
    this.#tellNone(isEmpty && head.is_recorded ? head.state : "");
    this.#body.hidden = isEmpty;
    this.#head.show(this.#state);
    this.#say();
    this.#notices.replaceChildren(...head.notices.map((text) => h("div.note", text)));
    drawCards(this.#cards, head, this.#toggle, this.view.signal);
    this.#showWindows();
    if (!isEmpty) this.#chart.show(this.#state, this.#windows.opened);
    // JupyterLab asks a kernel for its widgets by the channel of the cells, which waits for the one that runs.
    const again = head.can_ask ? "; a page that is reloaded shows this again when the cell has ended" : "";
    this.#foot.textContent = head.file && `steps are kept in ${head.file}${again}`;
  }

  /** Say why there is no step, anew only when that is another reason: a reader of the screen hears it each time. */
  #tellNone(state: string): void {
    if (this.#empty.dataset.state === state) return;
    this.#empty.dataset.state = state;
    const first = "the first one also traces and compiles, which may take minutes.";
    const [title, reason] =
      state === "running"
        ? ["Waiting for the first step", `It shows here as soon as it has ended; ${first}`]
        : ["No step of training was told", "So nothing is known of it."];
    const own = `${reason} Keras' fit tells its steps; in a loop of your own wrap what it loops over:`;
    const code = "for batch in tfprof.trace_steps(dataset):";
    this.#empty.replaceChildren(...(state ? [emptyState(title, own, code, this.view.signal)] : []));
  }

  #showWindows(): void {
    const { head } = this.#state;
    this.#askWhetherHeard();
    this.#windows.show({ ...head, can_ask: head.can_ask && this.#answers.isHeard });
  }

  #look(): void {
    this.#say();
    this.#askWhetherHeard();
  }

  #askWhetherHeard(): void {
    if (this.#state.head.can_ask) this.#answers.ask(performance.now());
  }

  #say(): void {
    this.#head.say(this.#state.head, this.#heard.words(this.#state.head));
  }
}

export const live: ViewBuilder = {
  name: "live",
  build: (view) => void new Live(view),
};
