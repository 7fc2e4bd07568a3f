/** Turns all events of one key into the figures of the details pane, in steps with a clock to stop at. */

import { isInRange, overlapPs } from "../time/overlap";
import type { RangePs, Span } from "../time/viewport";
import { type Events, intervals, subtreeOf } from "./events";
import type { Marks } from "./marks";
import { Stepwise } from "./stepwise";

const WHOLE: Span = { t0: Number.NEGATIVE_INFINITY, t1: Number.POSITIVE_INFINITY };
/** Events between two looks at the clock. */
const CHUNK = 4096;

export interface KeyOptions {
  readonly span: Span | null;
  readonly nSteps: number;
  /** Leaves out what would count the same work twice: other sides of an op, derived lines. */
  readonly counts: (event: number) => boolean;
  /** Durations that are kept. */
  readonly limit: number;
}

/** Loaded events of a key that overlap a span, and their time in it: the rule of the op table. */
export class KeyFigures extends Stepwise {
  count = 0;
  /** Inside the span. */
  totalPs = 0;
  /** Of slices as a whole. */
  minPs = Number.POSITIVE_INFINITY;
  maxPs = 0;
  /** Position of the longest, -1 for none. */
  longest = -1;
  /** Time in each step, ps; NaN for steps without it. */
  readonly perStep: Float64Array;
  hasSteps = false;
  /** Of evenly chosen events. */
  readonly durations: number[] = [];

  constructor(
    readonly events: Events,
    /** Of all events of the key, and perhaps others. */
    readonly marked: Marks,
    readonly key: number,
    readonly options: KeyOptions,
  ) {
    super();
    this.perStep = new Float64Array(options.nSteps).fill(Number.NaN);
  }

  protected override *work(): Generator<undefined> {
    const { events, marked, key, options } = this;
    const { span, counts } = options;
    const range = span && ([span.t0, span.t1] as const);
    const stride = Math.max(1, Math.ceil(marked.n / options.limit));
    let looked = 0;
    for (const { low, high } of intervals(events, span ?? WHOLE)) {
      for (let p = marked.next(low, high); p >= 0; p = marked.next(p + 1, high)) {
        if (++looked % CHUNK === 0) yield;
        if (events.keyOf(p) !== key || !isInRange(events.start[p], events.duration[p], range) || !counts(p)) continue;
        if (this.count % stride === 0) this.durations.push(events.duration[p]);
        this.#add(p, range);
      }
    }
  }

  #add(p: number, range: RangePs) {
    const { events, perStep } = this;
    const duration = events.duration[p];
    this.count += 1;
    this.totalPs += overlapPs(events.start[p], duration, range);
    if (duration < this.minPs) this.minPs = duration;
    if (this.longest < 0 || duration > this.maxPs) {
      this.maxPs = duration;
      this.longest = p;
    }
    const step = events.step[p];
    if (step < 0 || step >= perStep.length) return;
    perStep[step] = (Number.isNaN(perStep[step]) ? 0 : perStep[step]) + duration;
    this.hasSteps = true;
  }
}

export interface InsideRow {
  /** Name id. */
  readonly name: number;
  readonly count: number;
  readonly selfPs: number;
}

/** Self time inside an event (itself included) by name. */
export class Inside extends Stepwise {
  readonly #counts = new Map<number, number>();
  readonly #selfs = new Map<number, number>();

  constructor(
    readonly events: Events,
    readonly event: number,
  ) {
    super();
  }

  /** Largest first. */
  rows(): InsideRow[] {
    return [...this.#counts]
      .map(([name, count]) => ({ name, count, selfPs: this.#selfs.get(name) ?? 0 }))
      .sort((a, b) => b.selfPs - a.selfPs || b.count - a.count);
  }

  protected override *work(): Generator<undefined> {
    const { events } = this;
    let looked = 0;
    for (const { low, high } of subtreeOf(events, this.event)) {
      for (let p = low; p < high; p++) {
        if (++looked % CHUNK === 0) yield;
        const name = events.name[p];
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
        this.#selfs.set(name, (this.#selfs.get(name) ?? 0) + events.self[p]);
      }
    }
  }
}
