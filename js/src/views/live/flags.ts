/** Marks of windows -> a flag each above the chart, in the order of their steps and never one over another. */

import { button } from "../../ui/dom";
import type { Layout } from "./layout";
import type { LiveHead } from "./payload";
import { renew } from "./renew";
import { markWords } from "./words";

const FLAG_PX = 26;

export function drawFlags(
  element: HTMLElement,
  { axis }: Layout,
  head: LiveHead,
  opened: number | null,
  onWindow: (index: number) => void,
  signal: AbortSignal,
): void {
  const own = head.marks.filter(({ kind }) => kind === "window").sort((a, b) => a.at - b.at);
  let free = 0;
  const places = own.map(({ at }) => {
    const left = Math.max(free, Math.min(axis.x(at), axis.right - FLAG_PX));
    free = left + FLAG_PX;
    return left;
  });
  renew(element, [places, own, head.windows, opened], () =>
    own.map((mark, i) => {
      const index = mark.index ?? -1;
      const words = markWords(mark, head);
      const style = { left: `${places[i]}px` };
      const says = { title: words, "aria-label": words, "aria-pressed": String(index === opened) };
      // By keys the chart walks over the windows.
      const rest = { class: "flag", "data-key": index, tabindex: -1, style };
      return button(`⚑${index}`, () => onWindow(index), signal, { ...says, ...rest });
    }),
  );
}
