import { optionError } from "../../core/options/option-checks.ts";
import type { Algorithm } from "../../core/keys/algorithm.ts";
import type { JsonWebKeySet } from "../../core/keys/verification-key.ts";
import { createTestKey, type SigningKey, type TestKey } from "./test-key.ts";

/** The keys of a test issuer. The newest key signs; withdrawn keys aren't in the JWK Set. */
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

  /** Returns a key that no server knows. */
  get foreign(): TestKey {
    return (this.#foreign ??= createTestKey(this.#algorithm, undefined));
  }

  get jwks(): JsonWebKeySet {
    return { keys: [...this.#published].map(({ publicJwk }) => publicJwk) };
  }

  /** @throws ConfigurationError for an unknown key */
  find(kid: string): TestKey {
    const key = this.#keys.find((candidate) => candidate.kid === kid);
    if (key) return key;
    const kids = this.#keys.flatMap((candidate) => candidate.kid ?? []).join(", ");
    const hint = `It has ${kids === "" ? "keys without a `kid`" : kids}. To send another \`kid\`, write it in \`header\`.`;
    throw optionError(["kid"], "isn't a key of this issuer.", hint);
  }

  rotate(oldKeys: "kept" | "withdrawn"): TestKey {
    const base = this.#kid?.replace(/-1$/, "");
    const key = createTestKey(this.#algorithm, base && `${base}-${this.#keys.length + 1}`);
    if (oldKeys === "withdrawn") this.#published.clear();
    this.#keys.unshift(key);
    this.#published.add(key);
    return key;
  }

  withdraw(kid: string): void {
    const key = this.find(kid);
    if (key === this.newest)
      throw optionError(["withdraw"], `\`${kid}\` is the signing key.`, "Call `rotate()` first.");
    this.#published.delete(key);
  }
}
