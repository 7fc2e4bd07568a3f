// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { crumbButtons } from "../src/ui/controls";
import { familyLegend } from "../src/ui/share_bar";

const PATH = ["All ops", "train", "layer", "dense", "MatMul"].map((text, row) => ({ row, text }));

function texts(most: number): (string | null)[] {
  return crumbButtons(PATH, most, () => {}, new AbortController().signal).map((part) => part.textContent);
}

describe("the way back", () => {
  it("names every entry of a short path", () => {
    expect(texts(8)).toEqual(["All ops", "›", "train", "›", "layer", "›", "dense", "›", "MatMul"]);
  });

  it("keeps the whole and the last entries of a deep one, and says that some are left out", () => {
    expect(texts(3)).toEqual(["All ops", "› … ›", "dense", "›", "MatMul"]);
  });

  it("goes to the entry that is clicked, and marks where one is", () => {
    const opened: number[] = [];
    const parts = crumbButtons(PATH, 8, (row) => opened.push(row), new AbortController().signal);
    const buttons = parts.filter((part) => part.tagName === "BUTTON");
    for (const one of buttons) one.click();
    expect(opened).toEqual([0, 1, 2, 3, 4]);
    expect(buttons.map((one) => one.getAttribute("aria-current"))).toEqual([null, null, null, null, "true"]);
  });
});

describe("the legend", () => {
  it("has each family that is drawn once, and what has none over half", () => {
    const said = familyLegend(new Set(["mixed", "conv", ""])).map((one) => one.textContent);
    expect(said).toHaveLength(2);
    expect(said[1]).toBe("several, none over half");
  });
});
