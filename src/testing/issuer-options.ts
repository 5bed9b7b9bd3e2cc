import { type Algorithm } from "../keys/algorithm.ts";
import { type KeySource } from "../keys/key-source.ts";
import { type ClaimPath } from "../token/principal.ts";

/** The options of a server that trusts the issuer. They may stand behind others, whose keys they replace. */
export interface TestTrustOptions {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** The `aud` of its tokens. */
  readonly audience: string | readonly string[];
  /** What it signs with. */
  readonly algorithm: Algorithm;
  /** Its keys: in memory, or where `listen` publishes them. */
  readonly keys: KeySource;
  /** As the issuer was given it. */
  readonly scopesClaim?: ClaimPath;
  /** As the issuer was given it. */
  readonly userIdClaim?: ClaimPath;
  /** As the issuer was given it. */
  readonly sessionIdClaim?: ClaimPath;
  /** The clock of the issuer, where it was given one. */
  readonly now?: () => number;
}
