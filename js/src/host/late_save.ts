/** Changes of a model that come with every frame -> a save when they rest, and one at the end. */

import type { AnyModel } from "./afm";
import { atEnd } from "./failures";

export class LateSave {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly model: AnyModel,
    readonly afterMs: number,
    signal: AbortSignal,
  ) {
    atEnd(signal, () => this.#flush());
  }

  /** Sets a trait, and saves it with all that are set before it rests. */
  set(name: string, value: unknown): void {
    this.model.set(name, value);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#flush(), this.afterMs);
  }

  #flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.model.save_changes();
  }
}
