/** The colours of colors.css, resolved so that a canvas takes them. */

export interface Palette {
  bg: string;
  bg2: string;
  ink: string;
  ink2: string;
  rule: string;
  rule2: string;
  act: string;
  actWash: string;
  warn: string;
  sliceInk: string;
  memoryHeap: string;
  /** By category id. */
  categories: string[];
  /** The same, pale enough to write on. */
  categoryFills: string[];
  /** By family id. */
  fills: string[];
  edges: string[];
  font: string;
}
