/** The module that the state of each widget holds. */

export { loader as default } from "../data/widget";
