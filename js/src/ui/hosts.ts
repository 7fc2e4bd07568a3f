/** What the views of a profile of several hosts share; the entry of this name makes a bundle of it. */

export { hostMeta } from "../model/hosts/host_meta";
export { HostTables } from "../model/hosts/host_tables";
export { HostBar, openCode } from "./host_bar";
export { Hosted } from "./hosted";
