/** Reads the caller that was entered: scopes, claims or a token. */
import { orUndefined } from "../../../core/errors.ts";
import { readScopes } from "../../../core/token/scope-sources.ts";
import type { PageRole } from "../page-data.ts";

type Claims = Readonly<Record<string, unknown>>;

/** The entered caller; without `scopes`, the caller has no token. */
interface EnteredCaller {
  readonly scopes?: readonly string[];
  readonly claims?: Claims;
  readonly tenant?: string;
  /** Describes what was read. */
  readonly note: string;
}

export function callerWithRole(role: PageRole): Omit<EnteredCaller, "note"> {
  if (role === "anonymous") return {};
  return "scopes" in role ? role : { scopes: role };
}

export function renderCaller({ scopes, claims }: Omit<EnteredCaller, "note">, claim: string): string {
  return claims ? JSON.stringify({ ...claims, [claim]: scopes }) : (scopes ?? []).join(" ");
}

/** Reads the scopes and the claims. */
export function readCaller(text: string, claim: string): EnteredCaller {
  const entered = text.trim().replace(/^bearer\s+/i, "");
  const isJson = entered.startsWith("{");
  if (entered === "") return { note: "A caller without a token" };
  const claims = orUndefined(() => JSON.parse(isJson ? entered : decodePayload(entered)) as unknown);
  if (typeof claims !== "object" || claims === null) {
    const scopes = isJson ? [] : entered.split(/[\s,]+/);
    return { scopes, note: isJson ? "This JSON has a mistake: no scopes" : `Scopes: ${scopes.join(" ")}` };
  }
  const path = Object.hasOwn(claims, claim) ? claim : claim.split(".");
  const shared = { claims: claims as Claims };
  const read = readScopes(shared.claims, [{ claim: path }]);
  if (read.kind === "scopes")
    return { ...shared, scopes: read.scopes, note: `Scopes in the claims: ${read.scopes.join(" ")}` };
  return {
    ...shared,
    scopes: [],
    note: `The claim ${claim} is missing, or holds no scopes: enter the name of yours`,
  };
}

/** Returns the payload of a JWT. Nothing is verified. */
function decodePayload(token: string): string {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1] ?? "";
  const bytes = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}
