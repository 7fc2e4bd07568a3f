/** The name of a bucket, as Python gives it -> what is in it, and why it has no line. */

const NOTES: Readonly<Record<string, string>> = {
  "tf.data": "The input pipeline's own work. What your functions do in map() and filter() is charged to their lines.",
  "Keras optimizer": "Weight updates of the optimizer, which no line of yours computes.",
  "Keras loss/metrics": "Losses and metrics of Keras. A loss function of yours has lines.",
  "Keras library": "What fit(), evaluate() and predict() do around the layers.",
  "TensorFlow library": "Ops that TensorFlow made by itself, not for a line of yours.",
  "eager op, line unknown": "Ops outside any graph leave no traceback, and no sample of your thread shows their line.",
  "eager op, several lines": "Ops outside any graph leave no traceback, and samples of your thread show several lines.",
  "not in a traced graph":
    "Ops whose graph was gone when the capture ended, or that TensorFlow made when it rewrote it.",
};

/** A sentence, or nothing for a name that needs none. */
export function bucketNote(bucket: string): string {
  return NOTES[bucket] ?? "";
}
