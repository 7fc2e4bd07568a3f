/** A path from the whole to what is shown -> buttons that go back along it. */

import { button, unspoken } from "./dom";

export interface Crumb {
  readonly row: number;
  readonly text: string;
}

/** At most `most` entries, the first and the last ones; a joint of its own says that some between are not named. */
export function crumbButtons(
  path: readonly Crumb[],
  most: number,
  open: (row: number) => void,
  signal: AbortSignal,
): HTMLElement[] {
  const skipped = Math.max(0, path.length - most);
  const parts: HTMLElement[] = [];
  path.forEach(({ row, text }, i) => {
    if (i > 0 && i <= skipped) return;
    if (i > 0) {
      const joint = i === skipped + 1 && skipped > 0 ? "› … ›" : "›";
      parts.push(unspoken("span.sep", joint));
    }
    const attributes = { title: text, "aria-current": i === path.length - 1 ? "true" : undefined };
    parts.push(button(text, () => open(row), signal, attributes));
  });
  return parts;
}
