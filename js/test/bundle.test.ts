// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { addStyles, makeModel, runOnce } from "../src/data/widget";

const sheets = (place: ParentNode) => [...place.querySelectorAll("style")].map((sheet) => sheet.textContent);

describe("the style sheet of all views", () => {
  afterEach(() => {
    document.head.replaceChildren();
    document.body.replaceChildren();
  });

  it("is once in a document, be a view in the page already or not", () => {
    addStyles(document.body.appendChild(document.createElement("div")), ".tfp {}");
    addStyles(document.createElement("div"), ".tfp {}");
    expect(sheets(document)).toEqual([".tfp {}"]);
  });

  it("is in the shadow root around a view, which the document's reaches not", () => {
    const root = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
    for (const name of ["a", "b"]) {
      const el = root.appendChild(document.createElement("div"));
      el.id = name;
      addStyles(el, ".tfp {}");
    }
    expect(sheets(root)).toEqual([".tfp {}"]);
    expect(sheets(document.head)).toEqual([]);
  });

  it("gives way to that of another version", () => {
    addStyles(document.body, ".old {}");
    addStyles(document.body, ".new {}");
    expect(sheets(document)).toEqual([".new {}"]);
  });
});

describe("a library", () => {
  it("that a page lacks says so, and may come with a later cell", async () => {
    const traits: Record<string, string> = { name: "bundle.test", version: "1", source: "" };
    const run = () => runOnce(makeModel(traits), "library", ({ name }) => name);
    vi.useFakeTimers();
    const lost = expect(run()).rejects.toThrow("bundle.test 1 is missing from this page");
    await vi.advanceTimersByTimeAsync(10_000);
    await lost;
    vi.useRealTimers();
    const text = new Response("x").body?.pipeThrough(new CompressionStream("deflate"));
    traits.source = Buffer.from(await new Response(text).arrayBuffer()).toString("base64");
    expect(await run()).toBe("bundle.test 1");
    expect(run()).toBe(run());
  });
});
