/** Turns a span that changes with every frame of a drag into work that comes to an end: one job at a time, the latest next. */
import type { Span } from "../../model/time/viewport";

export interface Job {
  /** Goes on until it is done or `isOver` says stop; whether it is done. */
  step(isOver: () => boolean): boolean;
}

/** Part of a frame that one job may take. */
const STEP_MS = 6;
/** While events arrive, the work begins again no more often than this. */
const ARRIVAL_MS = 500;

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
