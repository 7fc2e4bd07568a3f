/** The switches and boxes of a view -> a function that sets those of the view that takes its place alike. */

const GROUP = '[role="group"][aria-label]';
const BOX = 'input[type="search"][aria-label]';

/** What the reader chose, by the names of the controls. */
export function keptControls(root: HTMLElement): (next: HTMLElement) => void {
  const pressed = new Map<string, string>();
  for (const group of root.querySelectorAll(GROUP)) {
    const button = group.querySelector(':scope > button[aria-pressed="true"]');
    if (button) pressed.set(labelOf(group), button.textContent ?? "");
  }
  const written = new Map<string, string>();
  for (const input of root.querySelectorAll<HTMLInputElement>(BOX)) {
    if (input.value !== "") written.set(labelOf(input), input.value);
  }
  return (next) => {
    for (const group of next.querySelectorAll(GROUP)) {
      const text = pressed.get(labelOf(group));
      for (const button of group.querySelectorAll<HTMLElement>(':scope > button[aria-pressed="false"]')) {
        if (button.textContent === text) button.click();
      }
    }
    for (const input of next.querySelectorAll<HTMLInputElement>(BOX)) {
      const text = written.get(labelOf(input));
      if (text === undefined) continue;
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
}

function labelOf(element: Element): string {
  return element.getAttribute("aria-label") ?? "";
}
