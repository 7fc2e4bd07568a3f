// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { loader, managerHost, type RenderProps, type WidgetModule } from "../src/data/widget";
import { FakeModel } from "./fake_host";

/** As in Backbone: methods need their model, and `off` with a context ends what was listened to with it. */
class ManagedModel extends FakeModel {
  readonly contexts: unknown[] = [];
  override on(event: string, listener: () => void, context?: unknown) {
    super.on(event, listener);
    this.contexts.push(context);
  }
  override off(_event?: string | null, _listener?: (() => void) | null, context?: unknown) {
    for (let i = this.contexts.length - 1; i >= 0; i--) {
      if (this.contexts[i] !== context) continue;
      this.contexts.splice(i, 1);
      this.listeners.splice(i, 1);
    }
  }
}

const nothing: WidgetModule = { render: () => undefined };

describe("the widget manager that anywidget before 0.11 gives", () => {
  afterEach(() => vi.restoreAllMocks());

  it("finds the models of a page, whose listeners end with the view", async () => {
    const link = new ManagedModel({ step: 1 });
    const end = new AbortController();
    const manager = { get_model: (id: string) => (id === "link" ? Promise.resolve(link) : undefined) };
    const host = managerHost(manager, nothing, end.signal);
    const { get, set, on, send, save_changes } = await host.getModel("anywidget:link");
    const heard: unknown[] = [];
    on("change:step", () => heard.push(get("step")));
    set("step", 2);
    send({ kind: "hello" });
    save_changes();
    expect([heard, link.sent, link.nSaves]).toEqual([[2], [{ kind: "hello" }], 1]);
    end.abort();
    set("step", 3);
    expect(heard).toEqual([2]);
    await expect(host.getModel("anywidget:gone")).rejects.toThrow('no model "anywidget:gone"');
  });

  it("has children drawn by the same module, with the same host, as long as their place or the view is there", async () => {
    const drawn: RenderProps[] = [];
    const child = new ManagedModel({ builder: "timeline" });
    const end = new AbortController();
    const host = managerHost({ get_model: async () => child }, { render: (props) => drawn.push(props) }, end.signal);
    const widget = await host.getWidget("anywidget:child");
    const el = document.createElement("div");
    const own = new AbortController().signal;
    await widget.render({ el });
    await widget.render({ el, signal: own });
    expect(drawn.map(({ signal }) => signal)).toEqual([end.signal, own]);
    expect(drawn.every((props) => props.host === host && props.el === el)).toBe(true);
    expect(drawn[0].model.get("builder")).toBe("timeline");
  });

  it("gives the loader all it needs, and what that returns ends the view", async () => {
    const seen: AbortSignal[] = [];
    const get_model = vi.fn(async () => {
      throw new Error("no such model");
    });
    const model = Object.assign(new FakeModel({ script: "anywidget:script" }), { widget_manager: { get_model } });
    vi.spyOn(AbortController.prototype, "abort").mockImplementation(function (this: AbortController) {
      seen.push(this.signal);
    });
    const el = document.createElement("div");
    const end = (await loader.render({ model, el } as never)) as () => void;
    expect(get_model).toHaveBeenCalledWith("script");
    expect(el.textContent).toBe("This view cannot be drawn: no such model");
    end();
    expect(seen).toHaveLength(1);
  });

  it("says which anywidget is needed where there is none", async () => {
    const el = document.createElement("div");
    await loader.render({ model: new FakeModel({}), el } as never);
    expect(el.getAttribute("role")).toBe("alert");
    expect(el.textContent).toContain("anywidget 0.9 or later");
  });
});
