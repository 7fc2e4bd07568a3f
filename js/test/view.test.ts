// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { isDarkTheme } from "../src/ui/dom";
import { mount, mountPlain } from "../src/ui/view";
import { FakeModel, fakePage } from "./fake_host";
import { settle } from "./shown";

function element(): HTMLElement {
  return document.body.appendChild(document.createElement("div"));
}

describe("view", () => {
  afterEach(() => {
    document.body.replaceChildren();
    delete document.body.dataset.jpThemeLight;
    document.body.className = "";
    document.documentElement.removeAttribute("theme");
    vi.restoreAllMocks();
  });

  it("reads the theme of JupyterLab, VS Code and Colab; light where nothing says otherwise", () => {
    expect(isDarkTheme(document)).toBe(false);
    document.documentElement.setAttribute("theme", "dark");
    expect(isDarkTheme(document)).toBe(true);
    document.body.dataset.jpThemeLight = "true";
    expect(isDarkTheme(document)).toBe(false);
    document.body.dataset.jpThemeLight = "false";
    expect(isDarkTheme(document)).toBe(true);
    delete document.body.dataset.jpThemeLight;
    document.documentElement.removeAttribute("theme");
    document.body.className = "vscode-dark";
    expect(isDarkTheme(document)).toBe(true);
  });

  it("follows a change of theme until it ends", async () => {
    const controller = new AbortController();
    let n = 0;
    const el = element();
    const page = await fakePage({ meta: {}, tables: {} });
    const module = mountPlain({ name: "op_table", build: (view) => view.onTheme(() => n++) });
    await module.render({ model: page.view, el, host: page.host, signal: controller.signal });
    const root = el.querySelector<HTMLElement>("[data-tfprof=op_table]") as HTMLElement;
    expect(root.dataset.theme).toBe("light");
    document.body.dataset.jpThemeLight = "false";
    await vi.waitFor(() => expect(root.dataset.theme).toBe("dark"));
    expect(n).toBeGreaterThan(0);
    controller.abort();
    const before = n;
    document.body.dataset.jpThemeLight = "true";
    await settle();
    expect([n, root.isConnected]).toEqual([before, false]);
  });

  it("shows what failed in its own place, as text, while it is built and later", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const el = element();
    const page = await fakePage({ meta: {}, tables: {} });
    let later = () => undefined as unknown;
    const module = mount({
      name: "step_chart",
      build(view) {
        later = view.guard(async () => {
          throw new Error("second <b>failure</b>");
        });
        throw new Error("first failure");
      },
    });
    await module.render({ model: page.view, el, host: page.host, signal: new AbortController().signal });
    const alerts = () => [...el.querySelectorAll("[role=alert]")].map((box) => box.textContent);
    expect(alerts()).toHaveLength(1);
    expect(alerts()[0]).toContain("The step chart view failed: first failure");
    later();
    await vi.waitFor(() => expect(alerts()[0]).toContain("second <b>failure</b>"));
    expect(el.querySelector("b")).toBeNull();
  });

  it("parses the options, and shows when they are no JSON", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const page = await fakePage({ meta: {}, tables: {} });
    const seen: unknown[] = [];
    const module = mountPlain({ name: "timeline", build: (view) => void seen.push(view.options) });
    const render = async (options: string) => {
      const el = element();
      const model = new FakeModel({ options });
      await module.render({ model, el, host: page.host, signal: new AbortController().signal });
      return el.querySelector("[role=alert]");
    };
    expect(await render('{"height_px": 500}')).toBeNull();
    expect(seen).toEqual([{ height_px: 500 }]);
    expect(await render("{")).not.toBeNull();
  });
});
