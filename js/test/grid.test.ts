// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { fitted, type GridColumn } from "../src/ui/sheet";
import { Grid, numberColumn } from "../src/ui/table";
import { withLayout } from "./shown";

interface Row {
  readonly name: string;
  readonly n: number;
}

const COLUMNS: readonly GridColumn<Row>[] = [
  {
    id: "name",
    title: "Name",
    names: ({ name }) => name,
    value: ({ name }) => name,
    cell: ({ name }, { cut }) => cut(name),
  },
  numberColumn({ id: "n", title: "N", width: 60, narrowWidth: 50, isOptional: false }, ({ n }) => n),
  numberColumn({ id: "twice", title: "Twice", width: 60, shownFrom: 1300 }, ({ n }) => 2 * n),
];

function made(rows: readonly Row[]) {
  const picked: string[] = [];
  const grid = new Grid<Row>({
    label: "Rows",
    columns: COLUMNS,
    key: ({ name }) => name,
    attributes: ({ name }) => ({ "data-name": name }),
    onPick: ({ name }) => {
      picked.push(name);
      grid.setSelected(new Set([name]));
    },
    sortBy: "n",
    placeholder: "No row.",
    signal: new AbortController().signal,
  });
  document.body.append(grid.element);
  grid.setRows(rows);
  const shown = () => [...grid.element.querySelectorAll<HTMLElement>(".row")].map(({ dataset }) => dataset.name);
  const press = (key: string) => grid.element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  return { grid, picked, shown, press };
}

const THREE = [
  { name: "b", n: 2 },
  { name: "c", n: 2 },
  { name: "a", n: 3 },
];

withLayout();

describe("a table", () => {
  it("sorts by the head that is pressed, the largest first, and turns round at the second press", () => {
    const { grid, shown } = made(THREE);
    expect(shown()).toEqual(["a", "b", "c"]);
    const head = (id: string) => grid.element.querySelector<HTMLElement>(`.tfp-head[data-column="${id}"]`);
    head("n")?.click();
    expect(shown()).toEqual(["b", "c", "a"]);
    expect(grid.element.querySelector('[aria-sort="ascending"]')?.textContent).toBe("N");
    head("name")?.click();
    expect(shown()).toEqual(["c", "b", "a"]);
    expect(grid.shown.map(({ name }) => name)).toEqual(shown());
  });

  it("holds only the rows in sight, and says how many there are", () => {
    const rows = Array.from({ length: 100_000 }, (_, n) => ({ name: `row ${n}`, n }));
    const { grid, shown } = made(rows);
    expect(shown().length).toBeLessThan(60);
    expect(shown()[0]).toBe("row 99999");
    expect(grid.element.getAttribute("aria-rowcount")).toBe("100001");
    grid.reveal("row 50000");
    expect(shown()).toContain("row 50000");
  });

  it("selects by arrow keys from the row that is selected, and stays at the ends", () => {
    const { picked, press } = made(THREE);
    for (const key of ["ArrowDown", "ArrowDown", "End", "ArrowDown", "Home"]) press(key);
    expect(picked).toEqual(["a", "b", "c", "a"]);
  });

  it("scrolls to a row that comes later", () => {
    const { grid, shown } = made(THREE);
    grid.setSelected(new Set(["row 900"]));
    grid.reveal("row 900");
    grid.setRows(Array.from({ length: 1000 }, (_, n) => ({ name: `row ${n}`, n: -n })));
    expect(shown()).toContain("row 900");
    expect(grid.element.querySelector('[data-name="row 900"]')?.getAttribute("aria-selected")).toBe("true");
  });

  it("gives a column the width to which its edge is dragged, and its own again after a double click", () => {
    const { grid } = made(THREE);
    const edge = grid.element.querySelectorAll(".edge")[1];
    const drag = (name: string, clientX: number) => edge.dispatchEvent(new MouseEvent(name, { clientX }));
    drag("pointerdown", 100);
    drag("pointermove", 140);
    drag("pointerup", 140);
    drag("pointermove", 300);
    expect(grid.sheet.columnWidth("n")).toBe(100);
    drag("dblclick", 100);
    expect(grid.sheet.columnWidth("n")).toBe(60);
  });

  it("says what it is without rows", () => {
    const { grid } = made([]);
    const words = grid.element.querySelector<HTMLElement>(".none");
    expect([words?.hidden, words?.textContent]).toEqual([false, "No row."]);
    grid.setRows(THREE);
    expect(words?.hidden).toBe(true);
  });
});

it("a narrow table leaves columns out and makes others narrow; what is left is shared", () => {
  const widths = (px: number) => [...fitted(COLUMNS, px, new Map())].map(([{ id }, width]) => [id, width]);
  expect(widths(1000)).toEqual([
    ["name", 950],
    ["n", 50],
  ]);
  expect(widths(1200)).toEqual([
    ["name", 1140],
    ["n", 60],
  ]);
  expect(widths(1400).map(([id]) => id)).toEqual(["name", "n", "twice"]);
  expect(widths(100)[0]).toEqual(["name", 90]);
});
