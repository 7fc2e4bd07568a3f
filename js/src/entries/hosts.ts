/** What the views of a profile of several hosts share: a bundle of its own, which a page has once. */

export * from "../ui/hosts";
