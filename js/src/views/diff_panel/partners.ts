/** Names of ops in one of two compared runs -> their names in the other. */

export class Partners {
  readonly #to: readonly [ReadonlyMap<string, string>, ReadonlyMap<string, string>];
  readonly #lone: readonly ReadonlySet<string>[];

  /**
   * @param pairs names in a and in b where those differ
   * @param lone names that only a has, and that only b has
   */
  constructor(pairs: readonly (readonly [string, string])[], lone: readonly (readonly string[])[]) {
    this.#to = [new Map(pairs), new Map(pairs.map(([a, b]) => [b, a]))];
    this.#lone = lone.map((names) => new Set(names));
  }

  /** What ops of run `from` (0 a, 1 b) are called in the other; those that it does not have are left out. */
  of(names: readonly string[], from: number): string[] {
    return names.flatMap((name) => {
      const partner = this.#to[from].get(name);
      if (partner !== undefined) return partner;
      return this.#lone[from]?.has(name) ? [] : name;
    });
  }
}
