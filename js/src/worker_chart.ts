/** The same step on every host -> one stacked bar a host with its figures; one step, or the mean of several. */

import "./worker_chart.css";
import { toCsv } from "./core/csv";
import { cutNames } from "./core/cut";
import { formatMs } from "./core/format";
import { CATEGORY_LABELS } from "./core/meta";
import { decimalsOf, formatPart } from "./core/overview";
import { rangeInPs, stepLabel } from "./core/span_text";
import { timeOfSteps } from "./core/step_bars";
import { EMPTY_TABLE, type Table } from "./core/wire";
import {
  alignedIn,
  alignedOf,
  alignedSteps,
  rowsOf,
  usualSteps,
  type WorkerRow,
  workerRows,
} from "./core/worker_steps";
import { button, download, emptyState, h } from "./draw/dom";
import { paced, textFits } from "./draw/page";
import { createTip } from "./draw/plot";
import { mount, type TraceView } from "./view";
import { card, label, meanOf, verdict } from "./workers/words";

const TIP_LINE_PX = 15;
/** Room for the name of a host, as the style sheet has it. */
const HOST_PX = 176;

class WorkerChart {
  readonly #table: Table;
  readonly #steps: Table;
  readonly #hosts: readonly string[];
  readonly #slider: HTMLInputElement;
  readonly #mean: HTMLButtonElement;
  readonly #at = h("span", { class: "at", role: "status" });
  readonly #say = h("p", { class: "tfp-worker-say", role: "status" });
  readonly #place = h("div", { class: "tfp-workers-place" });
  readonly #tip: ReturnType<typeof createTip>;
  readonly #body = h("tbody");
  readonly #head = h("thead");
  #rows: readonly WorkerRow[] = [];
  #what = "";

  constructor(readonly view: TraceView) {
    const { signal, data, link, guard } = view;
    this.#table = data.table("worker_steps") ?? EMPTY_TABLE;
    this.#steps = data.table("steps") ?? EMPTY_TABLE;
    this.#hosts = data.meta.worker_hosts ?? [];
    const last = alignedSteps(this.#table) - 1;
    this.#slider = h("input", { type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": "Step" });
    this.#slider.addEventListener(
      "input",
      guard(() => this.#choose(Number(this.#slider.value))),
      { signal },
    );
    this.#mean = button("Mean", () => this.#choose(null), signal, { title: "The mean of all usual steps" });
    const table = h("table", { class: "tfp-workers" }, this.#head, this.#body);
    this.#place.append(table);
    const fill = h("div", { class: "tfp-fill" }, this.#toolbar(last), this.#say, this.#place);
    this.#tip = createTip(fill);
    view.root.append(fill);
    this.#body.addEventListener("pointermove", (event) => this.#hover(event), { signal });
    this.#body.addEventListener("pointerleave", () => this.#tip.hide(), { signal });
    const update = paced(
      guard(() => this.#update()),
      signal,
    );
    link.on("step", update, signal);
    link.on("time_range", update, signal);
    this.#update();
  }

  #toolbar(last: number): HTMLElement {
    const { signal } = this.view;
    return h(
      "div",
      { class: "bar" },
      last > 0 && h("span", { class: "seg" }, this.#mean),
      last > 0 && this.#slider,
      this.#at,
      h("span", { class: "sp" }),
      button("CSV", () => this.#save(), signal, { title: "Save the rows shown" }),
    );
  }

  /** An aligned step, or null for the mean of all. */
  #choose(aligned: number | null): void {
    const { link } = this.view;
    if (aligned === null) {
      link.setTimeRange(null);
      link.setStep(-1);
      return;
    }
    const rows = rowsOf(this.#table, aligned);
    const spans = rows.map((row) => timeOfSteps(this.#steps, row, row));
    link.setTimeRange([Math.min(...spans.map(([from]) => from)), Math.max(...spans.map(([, to]) => to))]);
    link.setStep(rows[0]);
  }

  /** The aligned steps that the link is about, and what to call them. */
  #chosen(): { steps: ReadonlySet<number>; what: string } {
    const { link, data } = this.view;
    const one = link.step >= 0 ? alignedOf(this.#table, link.step) : -1;
    if (one >= 0) return { steps: new Set([one]), what: `step ${stepLabel(data.meta.step_names, link.step)}` };
    const range = rangeInPs(link.timeRange, this.#steps);
    if (range !== null) {
      const steps = alignedIn(this.#table, this.#steps, range);
      return { steps, what: steps.size === 0 ? "no whole step in this range" : `${meanOf(steps.size)} in the range` };
    }
    const usual = usualSteps(this.#table, this.#steps.columns.is_averaged as Uint8Array);
    return { steps: usual, what: meanOf(usual.size) };
  }

  #update(): void {
    const { data, link } = this.view;
    const { steps, what } = this.#chosen();
    const { categories } = data.meta;
    this.#what = what;
    this.#rows = workerRows(this.#table, categories, this.#hosts.length, steps);
    this.#at.textContent = what;
    const [first] = steps;
    if (steps.size === 1) this.#slider.value = String(first);
    this.#slider.classList.toggle("off", steps.size !== 1);
    this.#slider.setAttribute("aria-valuetext", what);
    this.#mean.setAttribute("aria-pressed", String(link.step < 0 && link.timeRange === null));
    const words = [verdict(this.#rows, this.#hosts, categories), data.meta.worker_note ?? ""];
    this.#say.textContent = words.filter(Boolean).join(" ");
    this.#draw();
  }

  /** Categories that took time on any host at any step; a column for each. */
  #columns(): readonly number[] {
    const { categories } = this.view.data.meta;
    const isUsed = (category: string) => {
      const column = this.#table.columns[`${category}_ms`] as Float64Array | undefined;
      return column?.some((ms) => ms > 0) ?? false;
    };
    return categories.flatMap((category, c) => (isUsed(category) ? [c] : []));
  }

  #draw(): void {
    const { categories } = this.view.data.meta;
    const columns = this.#columns();
    const most = this.#rows.reduce((max, { stepTimeMs }) => Math.max(max, stepTimeMs), 0);
    const slowest = this.#rows.length > 1 ? this.#rows.findIndex(({ stepTimeMs }) => stepTimeMs === most) : -1;
    const decimals = decimalsOf(most);
    const swatch = (category: string) => {
      const element = h("i", { class: "sw" });
      element.style.background = `var(--c-${category})`;
      return element;
    };
    this.#head.replaceChildren(
      h(
        "tr",
        {},
        h("th", { class: "l", scope: "col" }, "Host"),
        h("th", { class: "l stack", scope: "col" }, `Time of a step, 0 to ${formatMs(most)}`),
        h("th", { scope: "col" }, "Step, ms"),
        ...columns.map((c) => h("th", { scope: "col" }, swatch(categories[c]), CATEGORY_LABELS[categories[c]] ?? "")),
        h("th", { class: "l", scope: "col" }, "Bottleneck"),
      ),
    );
    // Cut so that several stay apart; of one the style sheet leaves out the end.
    const several = this.#hosts.length > 1 ? this.#hosts : [];
    const cuts = cutNames(several, textFits(this.view.root, HOST_PX));
    this.#body.replaceChildren(
      ...this.#rows.map((row, i) => {
        const name = this.#hosts[row.host] || "unnamed host";
        const bars = columns.map((c) => {
          const piece = h("i");
          piece.style.width = row.parts[c] > 0 ? `max(1px, ${(row.parts[c] / most) * 100}%)` : "0";
          piece.style.background = `var(--c-${categories[c]})`;
          return piece;
        });
        const cells = columns.map((c) => {
          const emphasis = row.parts[c] === 0 ? "z" : c === row.bottleneck ? "top" : "";
          return h("td", { class: emphasis }, formatPart(row.parts[c], decimals));
        });
        const bottleneck = row.bottleneck < 0 ? "none" : label(categories[row.bottleneck]);
        return h(
          "tr",
          { "data-row": i },
          h("th", { scope: "row", title: name }, cuts.get(name) ?? name),
          h("td", { class: "stack" }, h("div", {}, ...bars)),
          h("td", { class: i === slowest ? "top" : "" }, row.stepTimeMs.toFixed(decimals)),
          ...cells,
          h("td", { class: "l" }, bottleneck),
        );
      }),
    );
  }

  #hover(event: PointerEvent): void {
    const element = (event.target as Element).closest<HTMLElement>("tr");
    const row = this.#rows[Number(element?.dataset.row ?? -1)];
    if (element === null || row === undefined) {
      this.#tip.hide();
      return;
    }
    const tip = card(row, this.#hosts, this.view.data.meta.categories, this.#what);
    const box = (this.#place.parentElement ?? this.#place).getBoundingClientRect();
    const at = element.getBoundingClientRect();
    const height = TIP_LINE_PX * (tip.lines.length + 1) + 8;
    const isAbove = at.bottom - box.top + height > box.height && at.top - box.top > height;
    this.#tip.show(event.clientX - box.left, (isAbove ? at.top - height - 2 : at.bottom + 2) - box.top, tip);
  }

  #save(): void {
    const { categories } = this.view.data.meta;
    const header = ["host", "steps", "step_time_ms", ...categories.map((name) => `${name}_ms`), "bottleneck"];
    const rows = this.#rows.map((row) => [
      this.#hosts[row.host] ?? "",
      this.#what,
      row.stepTimeMs,
      ...row.parts,
      row.bottleneck < 0 ? "" : categories[row.bottleneck],
    ]);
    download("workers.csv", toCsv(header, rows), "text/csv");
  }
}

const SEVERAL_CODE = 'tfprof.load("logs/plugins/profile/2026_11_20")  # a run folder with one file a host';
const NO_STEPS_CODE = "for batch in tfprof.trace_steps(dataset):\n    train_step(batch)";

export default mount(
  "worker_chart",
  (view) => {
    view.root.classList.add("tfp-worker_chart");
    const { data, signal } = view;
    const hosts = data.meta.worker_hosts ?? [];
    if ((data.table("worker_steps") ?? EMPTY_TABLE).n === 0) {
      const note = data.meta.worker_note || "This capture has no steps that hosts could be compared by.";
      view.root.append(
        emptyState("No steps to compare", `${note} Mark the steps of your loop:`, NO_STEPS_CODE, signal),
      );
      return;
    }
    new WorkerChart(view);
    if (hosts.length > 1) return;
    const reason =
      "This view compares the steps of several hosts and names the slowest. It fills when the folder of a run holds the traces of two or more:";
    const place = view.root.querySelector(".tfp-workers-place");
    place?.append(emptyState("One host in this capture", reason, SEVERAL_CODE, signal));
  },
  { needs: ["worker_steps", "steps"] },
);
