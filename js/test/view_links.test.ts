// @vitest-environment jsdom
/** Names of views in a sentence: links inside a dashboard, words elsewhere. */
import { afterEach, expect, it } from "vitest";
import { SHOW_VIEW, withViewLinks } from "../src/ui/controls";
import { h } from "../src/ui/dom";

const { signal } = new AbortController();
const TEXT = " see the op table and the kernel table; the top table is no view.";

afterEach(() => document.body.replaceChildren());

it("are links in a dashboard, which is asked for the view", () => {
  const root = h("div", { "data-tfprof": "overview_panel" });
  const dashboard = h("div", { "data-tfprof": "dashboard" }, root);
  document.body.append(dashboard);
  const asked: unknown[] = [];
  dashboard.addEventListener(SHOW_VIEW, (event) => asked.push((event as CustomEvent).detail));
  root.append(...withViewLinks(TEXT, { root, signal }));
  expect(root.textContent).toBe(TEXT);
  const links = [...root.querySelectorAll("button")];
  expect(links.map((link) => link.textContent)).toEqual(["op table", "kernel table"]);
  for (const link of links) link.click();
  expect(asked).toEqual(["op_table", "kernel_table"]);
});

it("are words where no dashboard is around", () => {
  const root = h("div", { "data-tfprof": "overview_panel" });
  document.body.append(root);
  expect(withViewLinks(TEXT, { root, signal })).toEqual([TEXT]);
});
