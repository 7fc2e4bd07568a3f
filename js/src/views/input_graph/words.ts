/** Categories of the host's input time -> their names and what to do about each, as XProf recommends. */

export interface CategoryWords {
  readonly label: string;
  readonly tip: string;
  readonly advice: string;
}

const WORDS: Readonly<Record<string, CategoryWords>> = {
  "Demanded file read": {
    label: "Read on demand",
    tip: "Reading files without caching, prefetching or interleaving",
    advice: "Read files in advance: prefetch, interleave, and a reader buffer do it in tf.data.",
  },
  "Advanced file read": {
    label: "Read in advance",
    tip: "Reading files ahead, with caching, prefetching or interleaving",
    advice: "Tune what reads ahead: the buffer of prefetch, cycle_length of interleave, buffer_size of the reader.",
  },
  Preprocessing: {
    label: "Preprocessing",
    tip: "All ops between reading and handing over, such as decoding images",
    advice: "Raise num_parallel_calls of map, or preprocess the data once, offline.",
  },
  Enqueue: {
    label: "Enqueue to device",
    tip: "Putting data into the queue that goes to the device",
    advice: "Combine small chunks of data into fewer, larger ones before they go to the device.",
  },
};

/** In the order of the guide. */
export const CATEGORY_ORDER: readonly string[] = Object.keys(WORDS);

export function categoryWords(category: string): CategoryWords {
  return WORDS[category] ?? { label: category, tip: "", advice: "" };
}
