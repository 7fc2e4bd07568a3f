/** Figures of what is drawn -> how hot each is, and the figures at which a legend has its marks. */

/** From 0 to 1, in proportion to the largest; 0 where nothing has the figure. */
export function heatOf(value: number, largest: number): number {
  if (!(largest > 0) || !(value > 0)) return 0;
  return Math.min(1, value / largest);
}

/** The least heat that can be told from none. */
const FAINTEST_PERCENT = 8;

/** Of the hot colour in a mix with the ground. What has any of the figure can be told from what has none. */
export function heatPercent(heat: number): number {
  return heat > 0 ? Math.round(FAINTEST_PERCENT + (100 - FAINTEST_PERCENT) * heat) : 0;
}

/** None, half and the largest. */
export function heatMarks(largest: number): readonly number[] {
  return largest > 0 ? [0, largest / 2, largest] : [0];
}
