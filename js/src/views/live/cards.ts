/** Anomalies -> a card each in words, the newest first; those beyond a few unfold. */

import { formatCount } from "../../model/text/format";
import { button, h } from "../../ui/dom";
import type { Anomaly, LiveHead } from "./payload";
import { renew } from "./renew";
import { newestFirst, stepsText } from "./words";

const N_CARDS = 4;

export function drawCards(
  element: HTMLElement,
  { anomalies, windows }: LiveHead,
  onWindow: (index: number) => void,
  signal: AbortSignal,
): void {
  const all = newestFirst(anomalies);
  const ready = windows.filter(({ state }) => state === "ready").map(({ index }) => index);
  const card = ({ title, evidence, severity, first_step, last_step, window, goes_on }: Anomaly) => {
    const isReady = window !== null && ready.includes(window);
    const show = isReady && button(`Show window ${window}`, () => onWindow(window), signal, { class: "link" });
    const when = h("span.q", `${stepsText(first_step, last_step, goes_on)}${goes_on ? ", goes on" : ""}`);
    return h("li", { class: severity }, h("b", title), h("p.q", evidence), h("p.small", when, show));
  };
  const list = (some: readonly Anomaly[]) => h("ul", ...some.map(card));
  element.hidden = all.length === 0;
  renew(element, [all, ready], () => {
    const more = all.slice(N_CARDS);
    const rest = more.length > 0 && h("details", h("summary", `${formatCount(more.length)} more`), list(more));
    return [h("b", "Anomalies"), list(all.slice(0, N_CARDS)), ...(rest ? [rest] : [])];
  });
}
