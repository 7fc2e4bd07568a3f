/** Functions of Math under short names: the bundle calls them hundreds of times. */
const { abs, floor, max, min, round } = Math;

export { abs as "Math.abs", floor as "Math.floor", max as "Math.max", min as "Math.min", round as "Math.round" };
