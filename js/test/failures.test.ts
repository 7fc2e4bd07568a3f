// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { guarded, showFailures, within } from "../src/data/widget";
import { mount, mountPlain, type TraceView, type View } from "../src/ui/view";
import { OpenedHost } from "../src/views/dashboard/dashboard";
import { inputGraph } from "../src/views/input_graph/input_graph";
import { opTable } from "../src/views/op_table/op_table";
import { overviewPanel } from "../src/views/overview_panel/overview_panel";
import { sourceView } from "../src/views/source_view/source_view";
import { treeView } from "../src/views/tree_view/tree_view";
import { encodePack } from "./encoding";
import { fakePage } from "./fake_host";
import { scenePlaces } from "./places_scene";
import { makeScene } from "./scene";
import { settle, showWidget, withLayout } from "./shown";
import { sceneStructure } from "./structure_scene";

const broken = () => {
  throw new Error("broken");
};

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
withLayout();

const alerts = () => [...document.querySelectorAll("[role=alert]")].map((box) => box.textContent);

async function sendPart(page: Awaited<ReturnType<typeof fakePage>>, key: string, meta: Record<string, unknown>) {
  const part = await encodePack({ meta, tables: {} });
  page.data.emit("msg:custom", { kind: "part", key }, [new DataView(part.buffer as ArrayBuffer)]);
}

describe("a life within another", () => {
  it("ends with it, and may end before", () => {
    const whole = new AbortController();
    const [one, other] = [within(whole.signal), within(whole.signal)];
    one.abort();
    expect([whole, one, other].map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
    whole.abort();
    expect(other.signal.aborted).toBe(true);
    expect(within(whole.signal).signal.aborted).toBe(true);
  });

  it("shows errors where the other does", () => {
    const whole = new AbortController();
    const shown: unknown[] = [];
    showFailures(whole.signal, (error) => shown.push(error));
    guarded(broken, within(within(whole.signal).signal).signal)();
    expect(shown).toEqual([new Error("broken")]);
  });
});

describe("an error is shown in the view", () => {
  it.each([
    ["File or cell", sourceView, scenePlaces()],
    ["Execution", inputGraph, makeScene()],
    ["Figure", treeView, sceneStructure()],
  ])("when another %s is chosen", async (label, widget, scene) => {
    const { root } = await showWidget(widget, scene);
    const select = root.querySelector(`select[aria-label="${label}"]`);
    vi.spyOn(Element.prototype, "replaceChildren").mockImplementation(broken);
    select?.dispatchEvent(new Event("change"));
    await settle();
    expect(alerts()).toEqual([expect.stringContaining("broken")]);
  });

  it("while it waits for its data", async () => {
    const scene = makeScene();
    const sections = { memory: { n_rows: 2, n_parts: 2 } };
    const page = await fakePage({ ...scene, meta: { ...scene.meta, sections } });
    const el = document.body.appendChild(document.createElement("div"));
    const { signal } = new AbortController();
    void mount({ name: "op_table", build: () => undefined, needs: ["memory"] }).render({
      ...{ model: page.view, host: page.host },
      el,
      signal,
    });
    await vi.waitFor(() => expect(el.querySelector("progress")).not.toBeNull());
    vi.spyOn(HTMLProgressElement.prototype, "value", "set").mockImplementation(broken);
    await sendPart(page, "memory:0", {});
    await vi.waitFor(() => expect(alerts()).toEqual([expect.stringContaining("broken")]));
  });

  it("when the advice that comes late cannot be drawn", async () => {
    const late = ["advice", "advice_notices"];
    const sections = Object.fromEntries(late.map((name) => [name, { n_rows: 0, n_parts: 1 }]));
    const scene = makeScene();
    const { page } = await showWidget(overviewPanel, { ...scene, meta: { ...scene.meta, sections } });
    vi.spyOn(Element.prototype, "replaceChildren").mockImplementation(broken);
    for (const name of late) await sendPart(page, `${name}:0`, { [name]: [] });
    await vi.waitFor(() => expect(alerts()).toEqual([expect.stringContaining("broken")]));
  });

  it("while a column is drawn wider", async () => {
    const { root } = await showWidget(opTable, makeScene());
    const edge = root.querySelector(".edge");
    edge?.dispatchEvent(new MouseEvent("pointerdown", { bubbles: true }));
    edge?.dispatchEvent(Object.defineProperty(new MouseEvent("pointermove"), "clientX", { get: broken }));
    expect(alerts()).toEqual([expect.stringContaining("broken")]);
  });

  it("when the dashboard of one host cannot be closed", async () => {
    const page = await fakePage({ meta: {}, tables: {} });
    page.view.set("opened", "anywidget:other");
    page.view.save_changes = broken;
    const el = document.body.appendChild(document.createElement("div"));
    const build = (view: View) => {
      view.root.append(new OpenedHost(view as TraceView, document.createElement("div")).element);
    };
    const { signal } = new AbortController();
    await mountPlain({ name: "dashboard", build }).render({ model: page.view, el, host: page.host, signal });
    await settle();
    el.querySelector("button")?.click();
    expect(alerts()).toContainEqual(expect.stringContaining("The dashboard view failed: broken"));
  });
});
