/** A view whose kernel runs a cell -> whether what it sends is heard before the cell ends: it asks, and sees whether an answer comes. */

import type { AnyModel } from "../../host/afm";

const ASK_MS = 2000;

export class Answers {
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
