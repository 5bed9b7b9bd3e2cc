/** Who acts for the user of a token: the claim `act` (RFC 8693 section 4.1). */
import { compact } from "../runtime/compact.ts";
import { isObject, isText } from "../runtime/json.ts";
import { claimAt } from "./claim-path.ts";

/** A party that acts for the user, such as an agent. */
export interface Actor {
  /** Its `sub`. */
  readonly sub?: string;
  /** Its `iss`. */
  readonly issuer?: string;
  /** Its `client_id`. */
  readonly clientId?: string;
}

/** The actors of a token: the current one, and then those that acted before it. */
export type Delegation =
  | { readonly kind: "direct" }
  | { readonly kind: "delegated"; readonly actors: readonly [Actor, ...Actor[]] }
  | { readonly kind: "malformed" }
  | { readonly kind: "too deep" };

/** The limit of actors; each token exchange adds one. */
const MAX_DEPTH = 8;

const MALFORMED = { kind: "malformed" } as const;

/** Reads the actors of a token. One malformed actor makes the whole chain malformed. */
export function readDelegation(claims: Readonly<Record<string, unknown>>): Delegation {
  if (!Object.hasOwn(claims, "act")) return { kind: "direct" };
  const actors: Actor[] = [];
  for (let act: unknown = claims["act"]; act !== undefined;) {
    if (actors.length === MAX_DEPTH) return { kind: "too deep" };
    const actor = readActor(act);
    if (!actor) return MALFORMED;
    actors.push(actor);
    act = claimAt(act as Readonly<Record<string, unknown>>, "act");
  }
  const [outermost, ...earlier] = actors;
  return outermost ? { kind: "delegated", actors: [outermost, ...earlier] } : MALFORMED;
}

function readActor(act: unknown): Actor | undefined {
  if (!isObject(act)) return undefined;
  const [sub, issuer, clientId] = ["sub", "iss", "client_id"].map((name) => claimAt(act, name));
  if (!isId(sub) || !isId(issuer) || !isId(clientId)) return undefined;
  return Object.freeze(compact({ sub, issuer, clientId }));
}

const isId = (value: unknown): value is string | undefined => value === undefined || isText(value);
