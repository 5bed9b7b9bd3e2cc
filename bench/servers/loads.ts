/** The tokens that are sent to the servers. */
import { randomBytes } from "node:crypto";
import { claimsOf, type Signer } from "../tokens.ts";
import { anyOf } from "./any-of.ts";

export interface Load {
  readonly name: string;
  /** What a server with authentication answers. */
  readonly status: 200 | 401;
  readonly tokens: readonly string[];
  /** Returns the header of the next request. */
  readonly authorization: () => string;
}

export const ONE_TOKEN = "one token";
export const MANY_TOKENS = "10,000 tokens";
export const GARBAGE = "garbage";

const MANY = 10_000;
const SIGNATURE_CHANGES = 200;

export function createLoads(signer: Signer, { quick }: { readonly quick: boolean }): readonly Load[] {
  const load = (name: string, status: 200 | 401, tokens: readonly string[]): Load => {
    const next = anyOf(tokens);
    return { name, status, tokens, authorization: () => `Bearer ${next()}` };
  };
  const token = signer.sign(claimsOf());
  const oneToken = load(ONE_TOKEN, 200, [token]);
  if (quick) return [oneToken];
  const garbage = Array.from({ length: 1000 }, () => randomBytes(32).toString("base64url"));
  const many = Array.from({ length: MANY }, (_, caller) => signer.sign(claimsOf(caller)));
  return [
    oneToken,
    load(MANY_TOKENS, 200, many),
    load("bad signatures", 401, tamper(token)),
    load(GARBAGE, 401, garbage),
  ];
}

/** Changes one letter of the signature, a different one for each result. */
function tamper(token: string): readonly string[] {
  const from = token.lastIndexOf(".") + 1;
  return Array.from({ length: SIGNATURE_CHANGES }, (_, change) => {
    const at = from + 50 + change;
    return `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
  });
}
