/** What a part shows -> its elements, made anew only when that changed: what is pressed must be the same when it is let go. */

const SHOWN = new WeakMap<HTMLElement, string>();

/** Fills `element` with what `make` gives for `what`; the focus stays on the element of the same `data-key`. */
export function renew(element: HTMLElement, what: unknown, make: () => readonly (Node | string)[]): void {
  const now = JSON.stringify(what);
  if (SHOWN.get(element) === now) return;
  SHOWN.set(element, now);
  const { activeElement } = document;
  const key = element.contains(activeElement) ? (activeElement as HTMLElement).dataset.key : undefined;
  element.replaceChildren(...make());
  if (key) element.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus();
}
