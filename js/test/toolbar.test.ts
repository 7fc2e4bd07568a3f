/** @vitest-environment jsdom */
import { afterEach, describe, expect, it } from "vitest";
import { button, h } from "../src/ui/dom";
import { Popover } from "../src/views/timeline/panels";

const stop = new AbortController();
afterEach(() => document.body.replaceChildren());

describe("panels", () => {
  const open = () => {
    const home = h("section", { tabindex: 0 });
    const popover = new Popover(home, stop.signal);
    const opener = button("Filter", () => {}, stop.signal);
    home.append(opener);
    document.body.append(home);
    popover.toggle(
      "a",
      opener,
      "Tracks",
      "dialog",
      h("p", {}, "text"),
      button("First", () => {}, stop.signal),
    );
    return { home, popover, opener };
  };
  const key = (name: string) => new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true });

  it("take the focus, say that they are open, and give the focus back with Escape", () => {
    const { popover, opener } = open();
    expect(document.activeElement?.textContent).toBe("First");
    expect(opener.getAttribute("aria-expanded")).toBe("true");
    document.activeElement?.dispatchEvent(key("Escape"));
    expect([popover.isOpen, document.activeElement, opener.getAttribute("aria-expanded")]).toEqual([
      false,
      opener,
      "false",
    ]);
  });

  it("close with a press elsewhere, and with their own button", () => {
    const first = open();
    document.body.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
    expect(first.popover.isOpen).toBe(false);
    const second = open();
    second.popover.toggle("a", second.opener, "Tracks", "dialog");
    expect(second.popover.isOpen).toBe(false);
  });

  it("keep keys from the timeline under them", () => {
    const { home } = open();
    let nSeen = 0;
    home.addEventListener("keydown", () => {
      nSeen += 1;
    });
    for (const name of ["w", "Escape", "h"]) document.activeElement?.dispatchEvent(key(name));
    // The last one came when the panel was closed: it is the timeline's.
    expect(nSeen).toBe(1);
  });

  it("keep the focus when what is inside changes", () => {
    const { popover } = open();
    const row = (n: number) => button("Delete", () => {}, stop.signal, { "data-key": `delete${n}` });
    popover.fill(row(0), row(1));
    popover.element.querySelector<HTMLElement>('[data-key="delete1"]')?.focus();
    popover.fill(row(0), row(1));
    expect((document.activeElement as HTMLElement).dataset.key).toBe("delete1");
    popover.fill(row(0));
    expect((document.activeElement as HTMLElement).dataset.key).toBe("delete0");
  });
});
