// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Needs } from "../src/data/hosts";
import type { TraceMeta } from "../src/data/meta";
import type { Pack, Table, TypedArray } from "../src/data/pack";
import { eventsWords, waitingWords, windowWords } from "../src/model/range";
import { mount } from "../src/ui/view";
import { encodePack } from "./encoding";
import { type FakePage, fakePage } from "./fake_host";

function table(columns: Record<string, TypedArray>): Table {
  return { n: Object.values(columns)[0]?.length ?? 0, columns };
}

const STEPS = table({ start_ps: Float64Array.of(0, 10, 20, 30), duration_ps: new Float64Array(4).fill(10) });
const FIRST: Pack = {
  meta: {
    names: [],
    lines: [],
    step_names: ["0", "1", "2", "3"],
    sections: {
      steps: { n_rows: 4, n_parts: 0 },
      memory: { n_rows: 2, n_parts: 2 },
      occurrences: { n_rows: 1, n_parts: 1 },
    },
  },
  tables: { steps: STEPS },
};
const part = (name: string): Pack => ({ meta: {}, tables: { [name]: table({ time_ps: Float64Array.of(1) }) } });

async function show(page: FakePage, needs: Needs) {
  const el = document.body.appendChild(document.createElement("div"));
  const built: string[] = [];
  const build = ({ root }: { root: HTMLElement }) => {
    built.push("built");
    root.append("the view");
  };
  const done = mount({ name: "op_table", build, ...needs }).render({
    model: page.view,
    el,
    host: page.host,
    signal: new AbortController().signal,
  });
  const text = (selector: string) => el.querySelector(selector)?.textContent ?? "";
  return { el, built, done, text };
}

async function answer(page: FakePage, key: string) {
  const name = key.split(":")[0];
  page.data.emit("msg:custom", { kind: "part", key }, [
    new DataView((await encodePack(part(name))).buffer as ArrayBuffer),
  ]);
}

async function embedded(window: readonly [number, number]) {
  const pack: Pack = { meta: { window }, tables: part("memory").tables };
  return { parts: [["window", Buffer.from(await encodePack(pack)).toString("base64")] as const], is_offline: true };
}

describe("a view that needs more than the first pack", () => {
  it("says that source lines and layers are read while they are, and who reads them", () => {
    expect(waitingWords(["source_lines", "op_places"], 0, 2, true)).toBe(
      "Reading source lines, layers and structure …",
    );
    expect(waitingWords(["layers"], 0, 1, false)).toMatch(/^Waiting for the kernel to read source lines/);
    expect(waitingWords(["memory"], 1, 2, true)).toBe("Loading: 1 of 2 parts are here.");
  });

  afterEach(() => {
    document.body.replaceChildren();
    vi.restoreAllMocks();
  });

  it("is built at once when what it needs is there", async () => {
    const { built, done, el } = await show(await fakePage(FIRST), { needs: ["steps"] });
    await done;
    expect(built).toEqual(["built"]);
    expect(el.querySelector(".tfp-left-out, .tfp-waiting")).toBeNull();
  });

  it("says in its place how much has come, and is built with the last part", async () => {
    const page = await fakePage(FIRST);
    const { el, built, done, text } = await show(page, { needs: ["memory"] });
    await vi.waitFor(() => expect(text(".tfp-waiting")).toContain("Waiting for the kernel"));
    await answer(page, "memory:0");
    await vi.waitFor(() => expect(text(".tfp-waiting")).toBe("Loading: 1 of 2 parts are here."));
    expect(el.querySelector("progress")?.value).toBe(1);
    expect(built).toEqual([]);
    await answer(page, "memory:1");
    await done;
    expect([built, el.querySelector(".tfp-waiting")]).toEqual([["built"], null]);
  });

  it("says why it cannot be built on a page that was saved without its data", async () => {
    const { text } = await show(await fakePage(FIRST, { is_offline: true }), { needs: ["memory"] });
    await vi.waitFor(() => expect(text(".tfp-waiting")).toContain('embed="full"'));
  });

  it("hides what would be figures of the window of a capped page, until the range lies in the window", async () => {
    const page = await fakePage(FIRST, await embedded([5_000, 41_000]));
    const { built, done, text, el } = await show(page, { needs: ["memory"] });
    await done;
    expect(built).toEqual(["built"]);
    expect(text(".tfp-left-out")).toContain(
      "The figures of the whole capture are not known here. To keep all: prof.to_",
    );
    const isHidden = () => el.querySelector(".tfp-unknown") !== null;
    expect(isHidden()).toBe(true);
    page.link.set("time_range", [4, 30]);
    expect(isHidden()).toBe(true);
    expect(text(".tfp-left-out")).toContain("The figures of this range are not known here.");
    el.querySelector<HTMLElement>(".tfp-left-out button")?.click();
    expect([page.link.get("time_range"), isHidden(), text(".tfp-left-out")]).toEqual([[5, 41], false, ""]);
  });

  it("shows a view that is of the kept steps where nothing else is asked for", async () => {
    const page = await fakePage(FIRST, await embedded([5_000, 41_000]));
    const { done, el } = await show(page, { needs: ["memory"], ofWindow: ["memory"] });
    await done;
    const isHidden = () => el.querySelector(".tfp-unknown") !== null;
    expect(isHidden()).toBe(false);
    page.link.set("time_range", [4, 30]);
    expect(isHidden()).toBe(true);
  });

  it("hides sums of executions of the window where the totals of all, or of the linked host, are not here", async () => {
    const sections = { ...(FIRST.meta.sections as object), unit_totals: { n_rows: 9, n_parts: 9 } };
    const pack: Pack = { ...FIRST, meta: { ...FIRST.meta, sections } };
    const ofOps = await show(await fakePage(pack, await embedded([5_000, 41_000])), {
      needs: ["steps"],
      forRange: ["occurrences"],
    });
    await ofOps.done;
    expect(ofOps.text(".tfp-left-out")).toContain("The figures of the whole capture are not known here.");
    const several: Pack = { ...FIRST, meta: { ...FIRST.meta, hosts: ["a", "b"] } };
    const page = await fakePage(several, await embedded([5_000, 41_000]));
    const ofHost = await show(page, { needs: ["steps"], forRange: ["occurrences"], forHost: ["occurrences"] });
    await ofHost.done;
    expect(ofHost.text(".tfp-left-out")).toBe("");
    page.link.set("host", "a");
    expect(ofHost.text(".tfp-left-out")).toContain('embed="full"');
  });

  it("says so while a range is set whose rows have not come, and no longer", async () => {
    const page = await fakePage(FIRST);
    const { done, text, el } = await show(page, { needs: ["steps"], forRange: ["occurrences"] });
    await done;
    expect(el.querySelector(".tfp-left-out")).toBeNull();
    page.link.set("time_range", [0, 1000]);
    await vi.waitFor(() => expect(text(".tfp-left-out")).toContain("Figures of a range follow."));
    await answer(page, "memory:0");
    await answer(page, "memory:1");
    await answer(page, "occurrences:0");
    await vi.waitFor(() => expect(el.querySelector(".tfp-left-out")).toBeNull());
  });
});

describe("the window of a capped page", () => {
  const meta = FIRST.meta as unknown as TraceMeta;

  it("is told by its whole steps, by its times where it has none", () => {
    expect(windowWords(meta, STEPS, { t0: 10, t1: 20 })).toBe("step 1 of 4");
    expect(windowWords(meta, STEPS, { t0: 0, t1: 40 })).toBe("steps 0–3 of 4");
    expect(windowWords(meta, STEPS, { t0: 12e9, t1: 15e9 })).toBe("12 ms to 15 ms");
  });
});

describe("the events of a timeline", () => {
  const state = { problem: "", isOffline: false, isFull: false, hasKernel: true, nLoaded: 20, n: 90, nAll: 100 };

  it("are counted, with what becomes of the others", () => {
    const words = (change: Partial<typeof state>) => {
      const { count, state: what } = eventsWords({ ...state, ...change });
      return count + what;
    };
    expect(words({ nLoaded: 100, n: 100 })).toBe("100 events");
    expect(words({})).toBe("20 of 100 events, loading 22 %");
    expect(words({ nLoaded: 90 })).toBe("90 of 100 events");
    expect(words({ isOffline: true })).toBe("20 of 100 events in this page");
    expect(words({ isFull: true })).toBe("20 of 100 events, memory full");
    expect(words({ hasKernel: false })).toBe("20 of 100 events, waiting for the kernel");
    expect(words({ problem: "closed" })).toBe("20 of 100 events, the others could not be loaded");
    expect(eventsWords({ ...state, isOffline: true }).why).toContain('embed="full"');
  });
});
