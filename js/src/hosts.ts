/** What the views of a profile of several hosts share: a bundle of its own, which a page has once. */

export { hostMeta } from "./core/host_meta";
export { HostTables } from "./core/host_tables";
export { HostBar, openCode } from "./host_bar";
export { Hosted } from "./hosted";
