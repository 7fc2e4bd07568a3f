/** What a table says of one of its columns, and which columns a table of some width has room for. */

/** What a cell is told of its column. */
export interface CellLook {
  /** Cuts one of the column's `names` to its width. */
  readonly cut: (name: string) => string;
  /** The largest of the column's `amounts` among the rows, 0 for none. */
  readonly most: number;
  /** How many tell the column's `figures` apart. */
  readonly decimals: number;
}

/** A column of a table whose rows come in an order that its maker gives. */
export interface SheetColumn<R> {
  /** Unique in its table. */
  readonly id: string;
  readonly title: string;
  /** What the column means, on hover. */
  readonly tip?: string | undefined;
  /** What a cell shows; text is set as text. */
  readonly cell: (row: R, look: CellLook) => Node | string;
  /** Names that are cut where they do not fit, so that no two different ones look alike. */
  readonly names?: (row: R) => string;
  /** Amounts of which cells are told the largest. */
  readonly amounts?: (row: R) => number;
  /** Numbers that all show as many decimals; NaN for a blank cell. A column of nothing but those is left out. */
  readonly figures?: (row: R) => number;
  /** px before a name in its cell. */
  readonly leadPx?: number;
  /** px; a column without a width takes a share of the rest. */
  readonly width?: number;
  readonly narrowWidth?: number;
  readonly isRight?: boolean;
  /** Left out where the table is narrow. */
  readonly isOptional?: boolean;
  /** Width of the table in px from which the column is shown. */
  readonly shownFrom?: number;
}

/** A column of a table that sorts its rows. */
export interface GridColumn<R> extends SheetColumn<R> {
  /** What the column sorts by. */
  readonly value: (row: R) => number | string;
}

const NARROW_PX = 1080;
/** Of a column that shares the rest. */
const LEAST_PX = 90;

/** The columns that a table has room for, and how wide each is. `chosen` are widths that the reader gave. */
export function fitted<R>(
  columns: readonly SheetColumn<R>[],
  tablePx: number,
  chosen: ReadonlyMap<string, number>,
): ReadonlyMap<SheetColumn<R>, number> {
  const isNarrow = tablePx < NARROW_PX;
  const shown = columns.filter(({ isOptional, shownFrom = 0 }) => tablePx >= shownFrom && !(isOptional && isNarrow));
  const fixed = shown.map(({ id, width, narrowWidth }) => chosen.get(id) ?? (isNarrow ? narrowWidth : width) ?? width);
  const rest = tablePx - fixed.reduce((sum: number, width) => sum + (width ?? 0), 0);
  const share = Math.max(LEAST_PX, rest / Math.max(1, fixed.filter((width) => width === undefined).length));
  return new Map(shown.map((column, i) => [column, fixed[i] ?? share]));
}
