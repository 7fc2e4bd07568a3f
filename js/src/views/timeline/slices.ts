/** The table of slices of a span by name, worked out a part of a frame at a time. */

import { FAMILIES } from "../../data/meta";
import type { Span } from "../../data/time";
import type { Aggregate, NameTotals } from "../../model/aggregate";
import { readableKernels } from "../../model/names";
import { formatCount, formatPercent, formatTime } from "../../model/text";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/sheet";
import { LinkedTable, numberColumn } from "../../ui/table";
import type { TraceView } from "../../ui/view";
import type { TimelineState } from "./state";

/** The colour before a name, with its margin. */
const SWATCH_PX = 14;
/** With the return type that kernels have: other C++ names are short, and their classes tell. */
const SIGNATURE = /^(?:static |inline |__global__ )*void /;
/** During a drag the table is filled no more often than this, and less often where it has very many rows. */
const PACE_MS = 120;
const ROWS_PER_MS = 20;

export class SlicesPane {
  readonly element = h("div.tl-pane.tl-slices");
  readonly #status = h("span.q", { role: "status" });
  readonly #job: SpanJob<Aggregate>;
  readonly #aggregate: Aggregate;
  readonly #table: LinkedTable<NameTotals>;
  /** Readable names of kernels by signature, of as many names as were here. */
  #kernels: { readonly n: number; readonly names: ReadonlyMap<string, string> } = { n: 0, names: new Map() };
  #rows: readonly NameTotals[] = [];
  #span: Span = { t0: 0, t1: 0 };
  #shownAt = Number.NEGATIVE_INFINITY;
  #isStale = false;

  constructor(
    readonly view: TraceView,
    readonly state: TimelineState,
  ) {
    this.#aggregate = state.finding.newAggregate();
    this.#job = new SpanJob(
      (span) => {
        this.#aggregate.start(span);
        return this.#aggregate;
      },
      (aggregate) => this.#finish(aggregate),
    );
    this.#table = this.#build();
    this.#show();
  }

  focus() {
    this.element.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
  }

  forgetColors() {}

  update(): boolean {
    const { state } = this;
    const span = state.range ?? state.view;
    const isMore = this.#job.update(span, "", state.events.generation);
    if (this.#job.running && this.#aggregate.progress < 1) this.#say(span);
    const pace = Math.max(PACE_MS, this.#rows.length / ROWS_PER_MS);
    if (this.#isStale && performance.now() - this.#shownAt > pace) this.#show();
    return isMore || this.#isStale;
  }

  #finish(aggregate: Aggregate) {
    this.#rows = this.state.events.hasAll(aggregate.span) ? aggregate.rows() : [];
    this.#span = aggregate.span;
    this.#isStale = true;
  }

  #show() {
    this.#isStale = false;
    this.#shownAt = performance.now();
    this.#table.compute();
    this.#say(this.#span);
  }

  #say(span: Span) {
    const { progress } = this.#aggregate;
    const parts: string[] = [this.state.aboutSpan(span)];
    if (progress < 1) parts.push(`adding up ${formatPercent(progress)}`);
    const text = parts.join(" · ");
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  #pick({ name, longest }: NameTotals) {
    const { state } = this;
    if (longest < 0) return;
    state.select(longest);
    state.showSpan({ t0: state.events.start[longest], t1: state.events.endOf(longest) });
    state.scrollToTrack(longest);
    state.finding.onName(name);
  }

  /** What a name is called where there is little room: signatures of kernels differ only far inside. */
  #labelOf(name: string): string {
    if (!SIGNATURE.test(name)) return name;
    const { names } = this.state.meta;
    if (this.#kernels.n !== names.length) {
      this.#kernels = { n: names.length, names: readableKernels(names.filter((one) => SIGNATURE.test(one))) };
    }
    return this.#kernels.names.get(name) ?? name;
  }

  #build(): LinkedTable<NameTotals> {
    const { state, view } = this;
    const { meta, events } = state;
    const nameOf = (row: NameTotals) => meta.names[row.name];
    const labelOf = (row: NameTotals) => this.#labelOf(nameOf(row));
    return new LinkedTable<NameTotals>(
      { ...view, root: this.element },
      {
        label: "Slices by name",
        filterLabel: "Filter slices by name",
        noun: () => "names",
        weightNoun: "self time",
        weight: ({ selfPs }) => selfPs,
        columns: columns(state, labelOf),
        sortBy: "total",
        key: ({ name }) => String(name),
        attributes: (row) => ({ title: nameOf(row), "data-name": nameOf(row) }),
        rows: () => this.#rows,
        texts: (row) => [nameOf(row), labelOf(row)],
        opsOf: ({ longest }) => (longest < 0 ? [] : [meta.names[events.keyOf(longest)]]),
        onPick: (row) => this.#pick(row),
        whyEmpty: () => "No slice lies here. Move the window or drag over the ruler to choose another range.",
        csv: {
          file: "slices.csv",
          columns: {
            name: nameOf,
            count: (row) => row.count,
            total_us: (row) => row.totalPs / 1e6,
            self_us: (row) => row.selfPs / 1e6,
            mean_us: (row) => row.meanPs / 1e6,
            min_us: (row) => row.minPs / 1e6,
            max_us: (row) => row.maxPs / 1e6,
          },
        },
        about: () => "",
        controls: [this.#status],
      },
    );
  }
}

function columns(state: TimelineState, label: (row: NameTotals) => string): GridColumn<NameTotals>[] {
  const time = (id: string, title: string, tip: string, value: (row: NameTotals) => number, isOptional = false) =>
    numberColumn({ id, title, tip, width: 76, narrowWidth: 66, isOptional }, value, formatTime);
  const counted = "Slices of which any part lies in the span";
  return [
    {
      id: "name",
      title: "Slice",
      tip: "By name, over all threads and streams; lines that repeat the work of others are left out",
      value: ({ name }) => state.meta.names[name],
      names: label,
      leadPx: SWATCH_PX,
      cell: (row, { cut }) => {
        const family = familyOf(state, row.name);
        const swatch = h("i", { style: `background:var(--s-${family});border-color:var(--e-${family})` });
        return h("span.tl-name", { title: state.meta.names[row.name] }, swatch, cut(label(row)));
      },
    },
    numberColumn(
      { id: "count", title: "Count", tip: counted, width: 66, narrowWidth: 58, isOptional: false },
      ({ count }) => count,
      formatCount,
    ),
    time("total", "Total", "Time of the parts that lie in the span", ({ totalPs }) => totalPs),
    time("self", "Self", "Of it, time in none of the slices inside", ({ selfPs }) => selfPs),
    time("mean", "Mean", "Of the slices as a whole, though the span cuts some", ({ meanPs }) => meanPs),
    time("min", "Min", "Of the shortest slice, as a whole", ({ minPs }) => minPs, true),
    time("max", "Max", "Of the longest slice, as a whole", ({ maxPs }) => maxPs),
  ];
}

function familyOf(state: TimelineState, name: number): string {
  return FAMILIES[state.family[name]] ?? "runtime";
}

interface Job {
  /** Goes on until it is done or `isOver` says stop; whether it is done. */
  step(isOver: () => boolean): boolean;
}

/** Part of a frame that one job may take. */
const STEP_MS = 6;
/** While events arrive, the work begins again no more often than this. */
const ARRIVAL_MS = 500;

/** Work on a span that may change with every frame of a drag: one job at a time, the latest span next. */
export class SpanJob<J extends Job> {
  /** The job that runs, null when the last one is done. */
  running: J | null = null;
  #key = "";
  #generation = -1;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly begin: (span: Span) => J,
    readonly onDone: (job: J) => void,
  ) {}

  /**
   * A part of a frame for the span; whether there is more to do.
   * @param what what else the work depends on
   * @param generation of the events
   */
  update(span: Span, what: string, generation: number): boolean {
    const key = `${span.t0}|${span.t1}|${what}`;
    const now = performance.now();
    if (!this.running && (key !== this.#key || generation !== this.#generation)) {
      if (key === this.#key && now - this.#startedAt < ARRIVAL_MS) return true;
      this.#key = key;
      this.#generation = generation;
      this.#startedAt = now;
      this.running = this.begin(span);
    }
    if (!this.running) return false;
    const job = this.running;
    if (!job.step(() => performance.now() - now > STEP_MS)) return true;
    this.running = null;
    this.onDone(job);
    return key !== this.#key;
  }
}
