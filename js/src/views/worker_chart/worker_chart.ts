/** The same step on every host: who holds the others up, in a table, stacked columns or a heat map. */

import { CATEGORY_LABELS, type StragglerMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { shortHosts, type WorkerRow } from "../../model/hosts";
import { decimalsOf, formatPart, frameworkOf, MARK_STEPS_CODE, unrecordedWords } from "../../model/overview";
import { median, niceTicks } from "../../model/steps";
import { type CsvColumns, formatCount, formatMs, formatNumber, formatPercent } from "../../model/text";
import {
  button,
  type Choice,
  emptyState,
  h,
  inFrame,
  on,
  onKeys,
  paced,
  segmented,
  selectBox,
  setAria,
  unspoken,
  watchSize,
} from "../../ui/dom";
import { TipBox } from "../../ui/plot";
import { categorySwatch, legendEntry } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import { barCell, Ledger, type LedgerRow, nameColumn, numberColumn, titled } from "../../ui/table";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { type Card, card, HeatMap, isSpecial, label, type SortBy, valueLabel, WorkerModel } from "./heat_map";

/** Room over the longest column, for what is written on it. */
const HEADROOM = 1.14;
/** About the width of a character, and what a name is given at most; a column is not wider than the style sheet has it. */
const CHARACTER_PX = 6.3;
const NAME_GAP_PX = 3;
const LONGEST_PX = 64;
const MOST_PX = 64;

class HostColumns {
  readonly element: HTMLElement;
  readonly #axis = unspoken("div.axis");
  readonly #list: HTMLElement;
  #active = 0;

  constructor(
    readonly model: WorkerModel,
    /** Shows the card of a host beside its column; null hides it. */
    readonly onHover: (host: number, column: DOMRect | null) => void,
    signal: AbortSignal,
  ) {
    const attributes = { role: "listbox", tabindex: 0, "aria-label": "Hosts, by the parts of a step" };
    this.#list = h("div.cols", attributes);
    this.element = h("div.tfp-host-columns", this.#axis, this.#list);
    const columnOf = (event: Event) => (event.target as Element).closest<HTMLElement>("[role=option]");
    const leave = () => this.onHover(-1, null);
    on(this.#list, signal, {
      pointermove: (event) => {
        const column = columnOf(event);
        this.onHover(column ? Number(column.dataset.host) : -1, column?.getBoundingClientRect() ?? null);
      },
      pointerleave: leave,
      blur: leave,
      click: (event) => {
        const column = columnOf(event);
        if (column) model.chooseHost(Number(column.dataset.host));
      },
    });
    onKeys(this.#list, signal, ({ key }) => this.#key(key));
    const redraw = inFrame(() => this.draw(), signal);
    watchSize(this.#list, signal, redraw);
  }

  draw(): void {
    const { rows } = this.model;
    const most = rows.reduce((max, { stepTimeMs }) => Math.max(max, stepTimeMs), 0) * HEADROOM || 1;
    const { short, prefix } = shortHosts(rows.map(({ host }) => this.model.hosts[host]));
    const named = this.#named(short);
    this.#active = Math.min(this.#active, Math.max(0, rows.length - 1));
    this.#axis.replaceChildren(...this.#lines(most), h("span.q.host", prefix ? `${prefix}…` : "host"));
    this.#axis.title = prefix;
    this.#list.replaceChildren(...rows.map((_, place) => this.#column(place, most, named[place])));
    this.#tellActive();
  }

  /** As many names as there is room for, those of stragglers in any case; numbers without their zeros in front. */
  #named(short: readonly string[]): readonly string[] {
    const { model } = this;
    const names = short.every((name) => /^\d+$/.test(name)) ? short.map((name) => String(Number(name))) : short;
    const longest = names.reduce((most, name) => Math.max(most, name.length), 1) * CHARACTER_PX + NAME_GAP_PX;
    const pitch = Math.min(MOST_PX, this.#list.clientWidth / Math.max(1, names.length));
    const every = pitch > 0 ? Math.max(1, Math.ceil(Math.min(longest, LONGEST_PX) / pitch)) : 1;
    const held = new Set(model.rows.flatMap(({ host }, place) => (model.stragglerOf(host) ? [place] : [])));
    const isNear = (place: number) => [...held].some((other) => other !== place && Math.abs(other - place) < every);
    return names.map((name, place) => (held.has(place) || (place % every === 0 && !isNear(place)) ? name : ""));
  }

  /** Hairlines of the scale, and the median of the own times, which a straggler rises above. */
  #lines(most: number): HTMLElement[] {
    const at = (ms: number, text: string, kind: ".median" | "" = "") => {
      return h(`div.line${kind}`, { style: { bottom: `${(ms / most) * 100}%` } }, h("span", text));
    };
    const ticks = niceTicks(most, 4).filter((ms) => ms < most);
    const lines = ticks.map((ms) => at(ms, ms === 0 ? "0 ms" : formatNumber(ms, 6).replace(/\.?0+$/, "")));
    const own = this.model.rows.filter(({ host }) => this.model.isWorker(host)).map(({ ownMs }) => ownMs);
    if (this.model.hasOwn && own.length > 1) {
      const medianMs = median(own);
      lines.push(at(medianMs, `median own work ${formatMs(medianMs)}`, ".median"));
    }
    return [h("div.plot", ...lines)];
  }

  #column(place: number, most: number, name: string): HTMLElement {
    const { model } = this;
    const { stack, categories, hosts, roles, what, view } = model;
    const row = model.rows[place];
    const held = model.stragglerOf(row.host);
    const { title, lines } = card(row, hosts[row.host], categories, what, { role: roles[row.host], held });
    const pieces = stack.map((c) => {
      const style = { height: `${(row.parts[c] / most) * 100}%`, background: `var(--c-${categories[c]})` };
      return h("i", { style });
    });
    const mark = held ? h("b.mark", { "data-text": `+${formatNumber(held.excess_ms)}` }) : null;
    const says = {
      "aria-selected": String(view.link.host === hosts[row.host]),
      "aria-label": [title, ...lines].join(", "),
    };
    const attributes = { role: "option", id: this.#id(place), "data-host": row.host, ...says };
    // Short texts come from the style sheet: the label has the whole ones.
    const parts = [h("div.stack", ...pieces, mark), h("div.name", { "data-text": name })];
    return h(held ? "div.col.held" : "div.col", attributes, ...parts);
  }

  /** Ids are of the page, where several charts may be. */
  readonly #prefix = `tfp-host-${Math.random().toString(36).slice(2)}`;
  #id(place: number): string {
    return `${this.#prefix}-${place}`;
  }

  #tellActive(): void {
    this.#list.setAttribute("aria-activedescendant", this.#id(this.#active));
    [...this.#list.children].forEach((column, place) => {
      column.classList.toggle("active", place === this.#active);
    });
  }

  #key(key: string): boolean {
    const { rows, view } = this.model;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -rows.length, End: rows.length };
    const move = by[key as keyof typeof by];
    if (move !== undefined) {
      this.#active = Math.max(0, Math.min(rows.length - 1, this.#active + move));
      this.#tellActive();
      const column = this.#list.children[this.#active];
      this.onHover(rows[this.#active].host, column.getBoundingClientRect());
    } else if (key === "Enter" || key === " ") this.model.chooseHost(rows[this.#active].host);
    else if (key === "Escape" && view.link.host !== "") view.link.setHost("");
    else return false;
    return true;
  }
}

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

/** Up to so many hosts a table has them all in sight; up to so many columns can be told apart. */
const FEW_HOSTS = 8;
const MOST_COLUMNS = 32;

type Form = "table" | "columns" | "heat";

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
  readonly #columns: HostColumns;
  readonly #list: StragglerList;
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
    const chart: Form = this.#model.hosts.length <= MOST_COLUMNS ? "columns" : "heat";
    const forms: Choice<Form>[] = [
      { value: chart, text: chart === "heat" ? "Heat map" : "Columns" },
      { value: "table", text: "Table" },
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
