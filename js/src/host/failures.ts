/** The signal of a view -> where errors of whatever listens until that signal are shown: in the view's own place. */

const SHOWN = new WeakMap<AbortSignal, (error: unknown) => void>();

/** From now on `show` gets the errors of what is guarded by the signal. */
export function showFailures(signal: AbortSignal, show: (error: unknown) => void): void {
  SHOWN.set(signal, show);
}

/** Does something once the signal is over. */
export function atEnd(signal: AbortSignal, act: () => void): void {
  signal.addEventListener("abort", act, { once: true });
}

/** A life that ends with that of `signal` or before, and whose errors are shown in the same place. */
export function within(signal: AbortSignal): AbortController {
  const part = new AbortController();
  if (signal.aborted) part.abort();
  signal.addEventListener("abort", () => part.abort(), { once: true, signal: part.signal });
  const show = SHOWN.get(signal);
  if (show !== undefined) SHOWN.set(part.signal, show);
  return part;
}

/** `fn` with its errors shown, those of its promise too; one whose signal is of no view is left as it is. */
export function guarded<A extends unknown[]>(fn: (...args: A) => unknown, signal: AbortSignal): (...args: A) => void {
  const show = SHOWN.get(signal);
  if (show === undefined) return fn;
  return (...args) => {
    try {
      const result = fn(...args);
      if (result instanceof Promise) result.catch(show);
    } catch (error) {
      show(error);
    }
  };
}
