/** The same step on every host: who holds the others up, in a table or a heat map. */

import { CATEGORY_LABELS, type StragglerMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import type { WorkerRow } from "../../model/hosts";
import { decimalsOf, formatPart, frameworkOf, MARK_STEPS_CODE, unrecordedWords } from "../../model/overview";
import { type CsvColumns, formatCount, formatMs, formatPercent } from "../../model/text";
import { button, type Choice, emptyState, h, on, paced, segmented, selectBox, setAria } from "../../ui/dom";
import { TipBox } from "../../ui/plot";
import { categorySwatch, legendEntry } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import { barCell, Ledger, type LedgerRow, nameColumn, numberColumn, titled } from "../../ui/table";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { type Card, card, HeatMap, isSpecial, label, type SortBy, valueLabel, WorkerModel } from "./heat_map";

type HostRow = WorkerRow & LedgerRow;

class HostTable {
  readonly element: HTMLElement;
  readonly #ledger: Ledger<HostRow>;

  constructor(
    readonly model: WorkerModel,
    /** Shows the card of a host beside its row; null hides it. */
    onHover: (host: number, row: DOMRect | null) => void,
    signal: AbortSignal,
  ) {
    const { hosts, roles, categories, stack, view } = model;
    const csv: CsvColumns<HostRow> = {
      host: ({ name }) => name,
      role: ({ host }) => roles[host],
      steps: () => model.what,
      step_time_ms: (row) => row.stepTimeMs,
      own_ms: (row) => row.ownMs,
      ...Object.fromEntries(categories.map((name, c) => [`${name}_ms`, (row: HostRow) => row.parts[c]])),
      bottleneck: (row) => categories[row.bottleneck],
      cost_ms: ({ host }) => model.stragglerOf(host)?.cost_ms ?? 0,
    };
    this.#ledger = new Ledger<HostRow>(signal, {
      label: "Hosts",
      columns: this.#columns(),
      // In the order that is chosen above until a head is pressed.
      sortBy: "",
      attributes: ({ host }) => ({ "data-host": String(host) }),
      onPick: ({ host }) => hosts.length > 1 && model.chooseHost(host),
      isSelected: ({ host }) => view.link.host !== "" && view.link.host === hosts[host],
      onHover: (row) => {
        const element = row && this.#ledger.element.querySelector(`[data-host="${row.host}"]`);
        onHover(row?.host ?? -1, element?.getBoundingClientRect() ?? null);
      },
      fileName: "workers.csv",
      csv,
    });
    const keys = stack.map((c) => legendEntry(categorySwatch(categories[c]), CATEGORY_LABELS[categories[c]] ?? ""));
    this.element = h("div.tfp-workers-place", h("p.tfp-keys", ...keys), this.#ledger.element);
  }

  draw(): void {
    const { rows, hosts } = this.model;
    this.#ledger.show(rows.map((row) => ({ ...row, key: String(row.host), name: hosts[row.host] || "unnamed host" })));
  }

  save(): void {
    this.draw();
    this.#ledger.save();
  }

  #columns(): GridColumn<HostRow>[] {
    const { stack, categories, hasOwn, shortNames, roles, hosts } = this.model;
    const most = () => this.model.rows.reduce((max, { stepTimeMs }) => Math.max(max, stepTimeMs), 0);
    const short = ({ host, name }: HostRow) => (hosts.length > 1 ? shortNames[host] : name);
    const cut = nameColumn<HostRow>({ id: "host", title: "Host", width: 176, narrowWidth: 130 }, short, "name");
    const part = (c: number): GridColumn<HostRow> => ({
      ...{
        id: categories[c],
        title: CATEGORY_LABELS[categories[c]] ?? "",
        width: 96,
        narrowWidth: 84,
        isRight: true,
        shownFrom: 760,
      },
      value: (row) => row.parts[c],
      cell: (row) => {
        const text = formatPart(row.parts[c], decimalsOf(most()));
        return row.bottleneck === c ? h("b", text) : h("span", { class: row.parts[c] === 0 && "q" }, text);
      },
    });
    const own = { id: "own", title: "Own, ms", tip: "Step time without communication", width: 76, isRight: true };
    const remark = { id: "remark", title: hasOwn ? "Holds the others up" : "Bottleneck", width: 190, narrowWidth: 130 };
    return [
      {
        ...cut,
        cell: (row, look) => {
          const role = isSpecial(roles[row.host]) && h("span.q", ` ${roles[row.host]}`);
          return h("span", cut.cell(row, look), role);
        },
      },
      {
        ...{ id: "step", title: "Step, ms", value: (row) => row.stepTimeMs },
        cell: (row) => {
          const parts = stack.map((c) => ({ share: row.parts[c] / most(), color: `var(--c-${categories[c]})` }));
          return barCell(row.stepTimeMs.toFixed(decimalsOf(most())), parts);
        },
      },
      ...(hasOwn
        ? [
            {
              ...own,
              value: (row: HostRow) => row.ownMs,
              cell: (row: HostRow) => row.ownMs.toFixed(decimalsOf(most())),
            },
          ]
        : []),
      ...stack.map(part),
      {
        ...{ ...remark, value: (row) => this.#remark(row) },
        // Left out where nothing is to be said.
        figures: (row) => (this.#remark(row) ? 1 : Number.NaN),
        cell: (row) => titled(this.#remark(row), this.#remark(row)),
      },
    ];
  }

  /** What the others lose by a host, or what it is busy with. */
  #remark({ host, bottleneck }: HostRow): string {
    const { categories, hasOwn } = this.model;
    const held = this.model.stragglerOf(host);
    if (held) return `by ${label(held.category)}, ${formatMs(held.cost_ms)} a step`;
    if (hasOwn) return "";
    return bottleneck < 0 ? "none" : label(categories[bottleneck]);
  }
}

type StragglerRow = StragglerMeta & LedgerRow;

const STRAGGLER_COLUMNS: readonly GridColumn<StragglerRow>[] = [
  nameColumn({ id: "host", title: "Host" }, "name"),
  {
    ...{ id: "category", title: "Slower in", width: 106, value: (row) => row.category },
    cell: ({ category }) => h("span", categorySwatch(category), ` ${label(category)}`),
  },
  numberColumn({ id: "excess", title: "Over the median", width: 94, isOptional: false }, "excess_ms", formatMs),
  {
    ...{ id: "cost", title: "Costs all", width: 104, isRight: true, value: (row) => row.cost_ms },
    cell: (row) => `${formatMs(row.cost_ms)} · ${formatPercent(row.cost_ratio)}`,
  },
  {
    ...{ id: "last", title: "Last in", width: 60, isRight: true, shownFrom: 440, value: (row) => row.n_steps },
    cell: ({ n_steps, n_aligned }) => `${formatCount(n_steps)} of ${formatCount(n_aligned)}`,
  },
];

class StragglerList {
  readonly element: HTMLElement;
  readonly #title = h("p.q.small");
  readonly #ledger: Ledger<StragglerRow>;

  constructor(
    readonly model: WorkerModel,
    signal: AbortSignal,
  ) {
    this.#ledger = new Ledger<StragglerRow>(signal, {
      label: "Who holds the others up",
      columns: STRAGGLER_COLUMNS,
      sortBy: "cost",
      onPick: ({ host }) => model.chooseHost(model.hosts.indexOf(host)),
      isSelected: ({ host }) => model.view.link.host === host,
      fileName: "stragglers.csv",
      csv: {},
    });
    this.element = h("div.tfp-stragglers", this.#title, this.#ledger.element);
  }

  draw(): void {
    const { stragglers, nStragglers, hosts, shortNames } = this.model;
    this.element.hidden = stragglers.length === 0;
    const isCut = nStragglers > stragglers.length;
    const count = isCut ? ` ${formatCount(stragglers.length)} of ${formatCount(nStragglers)} hosts` : "";
    this.#title.replaceChildren(h("b", "Who holds the others up"), count);
    this.#ledger.show(
      stragglers.map((one) => ({ ...one, key: one.host, name: shortNames[hosts.indexOf(one.host)] ?? one.host })),
    );
  }
}

/** Above so many hosts a table is too long to see who comes late. */
const MOST_ROWS = 32;

type Form = "table" | "heat";

class WorkerChart {
  readonly #model: WorkerModel;
  readonly #slider: HTMLInputElement;
  readonly #mean: HTMLButtonElement;
  readonly #at = h("span.at", { role: "status" });
  readonly #say = h("p.tfp-worker-say", { role: "status" });
  readonly #fill = h("div.tfp-fill");
  readonly #place = h("div.tfp-workers-forms");
  readonly #tip: TipBox;
  readonly #table: HostTable;
  readonly #list: StragglerList;
  #heat: HeatMap | null = null;
  readonly #colors: HTMLElement;
  #form: Form;

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    const model = new WorkerModel(view);
    this.#model = model;
    const n = model.hosts.length;
    this.#form = n <= MOST_ROWS ? "table" : "heat";
    // Of many hosts the slowest must not be looked for.
    if (this.#form === "heat") model.sortBy = model.hasOwn ? "own" : "step";
    const last = model.nSteps - 1;
    this.#slider = h("input", { type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": "Step" });
    on(this.#slider, signal, { input: () => model.choose(Number(this.#slider.value)) });
    this.#mean = button("Mean", () => model.choose(null), signal, { title: "The mean of all usual steps" });
    const onHost = (host: number, box: DOMRect | null) => this.#hoverHost(host, box);
    this.#table = new HostTable(model, onHost, signal);
    this.#list = new StragglerList(model, signal);
    this.#colors = this.#colorChoice();
    this.#fill.append(this.#toolbar(last), this.#say, this.#place);
    this.#tip = new TipBox(this.#fill);
    view.root.append(this.#fill);
    const update = paced(() => this.#update(), signal);
    for (const field of ["step", "time_range", "host"] as const) link.on(field, update, signal);
    this.#update();
    this.#show(this.#form);
  }

  #toolbar(last: number): HTMLElement {
    const { signal } = this.view;
    const many = this.#model.hosts.length > 1;
    const forms: Choice<Form>[] = [
      { value: "table", text: "Table" },
      { value: "heat", text: "Heat map" },
    ];
    const show = (form: Form) => this.#show(form);
    const save = button("CSV", () => this.#table.save(), signal, { title: "Save the figures of the hosts" });
    return h(
      "div.bar",
      last > 0 && h("span.seg", this.#mean),
      last > 0 && this.#slider,
      this.#at,
      h("span.sp"),
      this.#colors,
      many && this.#sortChoice(),
      many && segmented("Shown as", forms, this.#form, show, signal),
      save,
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
    // The table says of each host what it costs.
    const shown = this.#heat && form === "heat" ? [this.#heat, this.#list] : [this.#table];
    this.#place.replaceChildren(...shown.map(({ element }) => element));
    this.#colors.hidden = form !== "heat";
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
    else {
      this.#list.draw();
      this.#heat?.draw();
    }
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
}

function select(
  text: string,
  choices: readonly (readonly [string, string])[],
  chosen: string,
  { signal }: TraceView,
  onChange: (value: string) => void,
): HTMLElement {
  const options = choices.map(([value, name]) => h("option", { value, selected: value === chosen }, name));
  return h("label.tfp-choice", h("span.q", text), selectBox(text, signal, onChange, ...options));
}

const SEVERAL_CODE = 'tfprof.load("logs/plugins/profile/2026_11_20")  # a run folder with one file a host';
const WHOLE_CODE = 'prof.to_html("trace.html", embed="full")';

export const workerChart: TraceBuilder = {
  name: "worker_chart",
  atHost: "same",
  build(view) {
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
