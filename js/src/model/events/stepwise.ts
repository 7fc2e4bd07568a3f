/** Work that goes on in parts of a frame, with a clock to stop at. */
export abstract class Stepwise {
  #job: Generator<undefined> | null = null;
  isDone = false;

  /** Yields where the clock may be asked. */
  protected abstract work(): Generator<undefined>;

  /** Begins anew. */
  protected restart(): void {
    this.#job = null;
    this.isDone = false;
  }

  /** Goes on until it is done or `isOver` says stop; whether it is done. */
  step(isOver: () => boolean = () => false): boolean {
    this.#job ??= this.work();
    while (!this.isDone) {
      this.isDone = this.#job.next().done === true;
      if (isOver()) break;
    }
    return this.isDone;
  }
}
