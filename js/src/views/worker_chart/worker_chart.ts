/** The same step on every host -> who holds the others up: a table with bars, stacked columns or a heat map of the hosts. */

import type { WorkerRow } from "../../model/hosts/worker_steps";
import { frameworkOf, MARK_STEPS_CODE, unrecordedWords } from "../../model/overview/framework";
import { type CsvColumns, csvOf } from "../../model/text/csv";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { button, type Choice, download, emptyState, h, on, segmented, setAria } from "../../ui/dom";
import { paced } from "../../ui/page";
import { createTip, type TipBox } from "../../ui/plot";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { valueLabel } from "./cell_card";
import { HeatMap } from "./heat_map";
import { HostColumns } from "./host_columns";
import { HostTable } from "./host_table";
import { type SortBy, WorkerModel } from "./model";
import { StragglerList } from "./straggler_list";
import { type Card, card } from "./words";

/** Up to so many hosts a table has them all in sight; up to so many columns can be told apart. */
const FEW_HOSTS = 8;
const MOST_COLUMNS = 32;

type Form = "table" | "columns" | "heat";

class WorkerChart {
  readonly #model: WorkerModel;
  readonly #slider: HTMLInputElement;
  readonly #mean: HTMLButtonElement;
  readonly #at = h("span", { class: "at", role: "status" });
  readonly #say = h("p", { class: "tfp-worker-say", role: "status" });
  readonly #fill = h("div", { class: "tfp-fill" });
  readonly #place = h("div", { class: "tfp-workers-forms" });
  readonly #tip: TipBox;
  readonly #table: HostTable;
  readonly #columns: HostColumns;
  readonly #list: StragglerList;
  /** Made when it is first shown. */
  #heat: HeatMap | null = null;
  readonly #colors: HTMLElement | null;
  #form: Form;

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    const model = new WorkerModel(view);
    this.#model = model;
    const n = model.hosts.length;
    this.#form = n <= FEW_HOSTS ? "table" : n <= MOST_COLUMNS ? "columns" : "heat";
    // Of many hosts the slowest must not be looked for.
    if (this.#form === "heat") model.sortBy = model.hasOwn ? "own" : "step";
    const last = model.nSteps - 1;
    this.#slider = h("input", { type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": "Step" });
    on(this.#slider, signal, { input: () => model.choose(Number(this.#slider.value)) });
    this.#mean = button("Mean", () => model.choose(null), signal, { title: "The mean of all usual steps" });
    const onHost = (host: number, box: DOMRect | null) => this.#hoverHost(host, box);
    this.#table = new HostTable(model, onHost, signal);
    this.#columns = new HostColumns(model, onHost, signal);
    this.#list = new StragglerList(model, signal);
    this.#colors = n > MOST_COLUMNS ? this.#colorChoice() : null;
    this.#fill.append(this.#toolbar(last), this.#say, this.#place);
    this.#tip = createTip(this.#fill);
    view.root.append(this.#fill);
    const update = paced(() => this.#update(), signal);
    for (const field of ["step", "time_range", "host"] as const) link.on(field, update, signal);
    this.#update();
    this.#show(this.#form);
  }

  #toolbar(last: number): HTMLElement {
    const { signal } = this.view;
    const many = this.#model.hosts.length > 1;
    const chart: Form = this.#model.hosts.length <= MOST_COLUMNS ? "columns" : "heat";
    const forms: Choice<Form>[] = [
      { value: chart, text: chart === "heat" ? "Heat map" : "Columns" },
      { value: "table", text: "Table" },
    ];
    const show = (form: Form) => this.#show(form);
    return h(
      "div",
      { class: "bar" },
      last > 0 && h("span", { class: "seg" }, this.#mean),
      last > 0 && this.#slider,
      this.#at,
      h("span", { class: "sp" }),
      this.#colors,
      many && this.#sortChoice(),
      many && segmented("Shown as", forms, this.#form, show, signal),
      button("CSV", () => this.#save(), signal, { title: "Save the figures of the hosts" }),
    );
  }

  #sortChoice(): HTMLElement {
    const { hasOwn, sortBy } = this.#model;
    const choices: [SortBy, string][] = [
      ["host", "in order"],
      ["step", "slowest first"],
    ];
    if (hasOwn) choices.push(["own", "most own work first"]);
    return select("Hosts", choices, sortBy, this.view, (value) => {
      this.#model.sortBy = value as SortBy;
      this.#update();
    });
  }

  #colorChoice(): HTMLElement {
    const { hasOwn, stack, categories } = this.#model;
    const keys = [...(hasOwn ? ["own"] : []), "step", ...stack.map((c) => categories[c])];
    const choices = keys.map((key): [string, string] => [key, valueLabel(key).toLowerCase()]);
    return select("Colour", choices, keys[0], this.view, (value) => {
      if (this.#heat === null) return;
      this.#heat.of = value;
      this.#heat.read();
    });
  }

  #show(form: Form): void {
    this.#form = form;
    this.#tip.hide();
    if (form === "heat") this.#heat ??= new HeatMap(this.#model, (found, box) => this.#hoverCard(found, box));
    const element = { table: this.#table, columns: this.#columns, heat: this.#heat ?? this.#table }[form].element;
    // The table says of each host what it costs.
    this.#place.replaceChildren(element, ...(form === "table" ? [] : [this.#list.element]));
    if (this.#colors) this.#colors.hidden = form !== "heat";
    this.#draw();
  }

  #update(): void {
    const { link } = this.view;
    const model = this.#model;
    model.update();
    const { chosen, what } = model;
    this.#at.textContent = what;
    const [first] = chosen;
    if (chosen.size === 1) this.#slider.value = String(first);
    this.#slider.classList.toggle("off", chosen.size !== 1);
    this.#slider.setAttribute("aria-valuetext", what);
    setAria(this.#mean, "pressed", link.step < 0 && link.timeRange === null);
    this.#say.textContent = model.sentence;
    this.#draw();
  }

  #draw(): void {
    if (this.#form === "table") this.#table.draw();
    else this.#list.draw();
    if (this.#form === "columns") this.#columns.draw();
    if (this.#form === "heat") this.#heat?.draw();
  }

  #hoverHost(host: number, box: DOMRect | null): void {
    const { rows, hosts, categories, what, roles } = this.#model;
    const row = rows.find((one) => one.host === host);
    const more = { role: roles[host], held: this.#model.stragglerOf(host) };
    this.#hoverCard(row ? card(row, hosts[host] || "unnamed host", categories, what, more) : null, box);
  }

  /** At the end of a narrow box, and within one that is as wide as the view. */
  #hoverCard(found: Card | null, at: DOMRect | null): void {
    const isWide = at !== null && at.width > this.#fill.clientWidth / 3;
    const place = at && { left: isWide ? at.left + at.width / 4 : at.right, top: at.top, bottom: at.bottom };
    this.#tip.about(found, place);
  }

  #save(): void {
    const { categories, rows, hosts, roles, what } = this.#model;
    const columns: CsvColumns<WorkerRow> = {
      host: (row) => hosts[row.host],
      role: (row) => roles[row.host],
      steps: () => what,
      step_time_ms: (row) => row.stepTimeMs,
      own_ms: (row) => row.ownMs,
      ...Object.fromEntries(categories.map((name, c) => [`${name}_ms`, (row: WorkerRow) => row.parts[c]])),
      bottleneck: (row) => categories[row.bottleneck],
      cost_ms: (row) => this.#model.stragglerOf(row.host)?.cost_ms ?? 0,
    };
    download("workers.csv", csvOf(columns, rows), "text/csv");
  }
}

function select(
  text: string,
  choices: readonly (readonly [string, string])[],
  chosen: string,
  { signal }: TraceView,
  onChange: (value: string) => void,
): HTMLElement {
  const options = choices.map(([value, name]) => h("option", { value, selected: value === chosen }, name));
  const box = h("select", { "aria-label": text }, ...options);
  on(box, signal, { change: () => onChange(box.value) });
  return h("label", { class: "tfp-choice" }, h("span", { class: "q" }, text), box);
}

const SEVERAL_CODE = 'tfprof.load("logs/plugins/profile/2026_11_20")  # a run folder with one file a host';
const WHOLE_CODE = 'prof.to_html("trace.html", embed="full")';

export const workerChart: TraceBuilder = {
  name: "worker_chart",
  build(view) {
    view.root.classList.add("tfp-worker_chart");
    const { data, signal } = view;
    const hosts = data.meta.worker_hosts ?? [];
    if (data.table("worker_steps") === undefined && (data.meta.sections?.worker_steps?.n_rows ?? 0) > 0) {
      const why = `To stay small, this page holds no steps of its ${hosts.length} hosts. One that does:`;
      view.root.append(emptyState("The steps are not in this page", why, WHOLE_CODE, signal));
      return;
    }
    if ((data.table("worker_steps") ?? EMPTY_TABLE).n === 0) {
      const note = data.meta.worker_note || "This capture has no steps that hosts could be compared by.";
      const instead = unrecordedWords(data.meta);
      const code = instead ? "" : MARK_STEPS_CODE[frameworkOf(data.meta)];
      const reason = instead || `${note} Mark the steps of your loop:`;
      view.root.append(emptyState("No steps to compare", reason, code, signal));
      return;
    }
    new WorkerChart(view);
    if (hosts.length > 1) return;
    const reason =
      "This view compares the steps of several hosts and names the slowest. It fills when the folder of a run holds the traces of two or more:";
    const place = view.root.querySelector(".tfp-workers-place");
    place?.append(emptyState("One host in this capture", reason, SEVERAL_CODE, signal));
  },
  needs: ["worker_steps", "steps"],
};
