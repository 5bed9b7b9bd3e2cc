import { type Algorithm } from "../keys/algorithm.ts";
import { type JsonWebKeySet } from "../keys/verification-key.ts";
import { mistake } from "./mistakes.ts";
import { createTestKey, type SigningKey, type TestKey } from "./test-key.ts";

/** The keys of a test issuer: the newest signs, and some are published. */
export class KeyRing {
  readonly #algorithm: Algorithm;
  readonly #kid: string | null;
  readonly #keys: [TestKey, ...TestKey[]];
  readonly #published: Set<TestKey>;
  #foreign: TestKey | undefined;

  constructor(algorithm: Algorithm, kid: string | null | undefined, signingKey: SigningKey | undefined) {
    this.#algorithm = algorithm;
    this.#kid = kid === undefined ? "key-1" : kid;
    const first = createTestKey(algorithm, this.#kid ?? undefined, signingKey);
    this.#keys = [first];
    this.#published = new Set([first]);
  }

  get newest(): TestKey {
    return this.#keys[0];
  }

  /** A key that is nobody's: its signatures fit nowhere. Made when it is first asked for. */
  get foreign(): TestKey {
    return (this.#foreign ??= createTestKey(this.#algorithm, undefined));
  }

  get jwks(): JsonWebKeySet {
    return { keys: [...this.#published].map(({ publicJwk }) => publicJwk) };
  }

  /** @throws ConfigurationError where no key has this name */
  named(kid: string): TestKey {
    const found = this.#keys.find((key) => key.kid === kid);
    if (found) return found;
    const names = this.#keys.flatMap((key) => key.kid ?? []).join(", ");
    const hint = `It has ${names === "" ? "keys without names" : names}. For a name that no key has write it in \`header\`.`;
    throw mistake(["kid"], "names no key of this issuer.", hint);
  }

  /** @throws ConfigurationError for another word: what is meant to be withdrawn must not stay */
  rotate(oldKeys: string): TestKey {
    if (oldKeys !== "kept" && oldKeys !== "withdrawn")
      throw mistake(["rotate", "oldKeys"], "is not known.", 'Write "kept" or "withdrawn".');
    const number = this.#keys.length + 1;
    const base = this.#kid === null ? undefined : this.#kid.replace(/-1$/, "");
    const key = createTestKey(this.#algorithm, base && `${base}-${number}`);
    if (oldKeys === "withdrawn") this.#published.clear();
    this.#keys.unshift(key);
    this.#published.add(key);
    return key;
  }

  withdraw(kid: string): void {
    const key = this.named(kid);
    if (key === this.newest) throw mistake(["withdraw"], `\`${kid}\` signs.`, "Call `rotate()` first.");
    this.#published.delete(key);
  }
}
