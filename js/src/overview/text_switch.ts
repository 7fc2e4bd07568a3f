/** A few words of which one is chosen, in place of a heading: the chosen one is bold, the others can be pressed. */

import { button, type Choice, h } from "../draw/dom";

export function textSwitch<T extends string>(
  label: string,
  choices: readonly Choice<T>[],
  chosen: T,
  onChoose: (value: T) => void,
  signal: AbortSignal,
): HTMLElement {
  const group = h("span", { class: "tfp-words", role: "group", "aria-label": label });
  for (const { value, text } of choices) {
    const element = button(
      text,
      () => {
        for (const other of group.children) other.setAttribute("aria-pressed", String(other === element));
        onChoose(value);
      },
      signal,
      { "aria-pressed": String(value === chosen) },
    );
    group.append(element);
  }
  return group;
}
