/** Compares servers with random tables with the random model. */
import { createHmac } from "node:crypto";
import { ConfigurationError, type Decision, type Principal, type ResourceServer } from "scopegate";
import { createResourceServer, type ResourceServerOptions } from "scopegate/complete";
import * as trpc from "scopegate/trpc";
import {
  type Caller,
  type Claims,
  decide,
  decideShadow,
  mistakesIn,
  type Policy,
  type Request,
  type Ruling,
} from "./random-specification.ts";
import { callerOf, NOW, policyOf, type Random, randomOf, requestOf, shadowOf } from "./random-tables.ts";

const SECRET = "a secret of the model, at least 256 bits long";
const CALLERS_OF_TABLE = 20;
const REQUESTS_OF_TABLE = 200;

/** How often each result occurred. */
export type Tally = Record<string, number>;

export interface RandomResult {
  readonly tally: Tally;
  readonly differences: readonly object[];
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function tokenOf(claims: Claims): string {
  const signed = `${encode({ alg: "HS256" })}.${encode({ aud: "model", ...claims })}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

export function serverOf(policy: Policy, shadow?: Policy): ResourceServer {
  const options = {
    serviceId: "model",
    verificationKeys: [SECRET],
    algorithm: "HS256",
    now: () => NOW * 1000,
    scopeMappings: policy.custom,
    defaultScopeMappings: policy.base,
    adminScope: policy.adminScope,
    impliedScopes: policy.implied,
    mcp: {},
    ...(shadow && { shadow: { scopeMappings: shadow.custom } }),
  };
  const server = createResourceServer(options as ResourceServerOptions);
  trpc.protect(server, { prefix: "/trpc" });
  return server;
}

/** Returns a server, or the codes of the mistakes in its tables. */
export function start(policy: Policy, shadow?: Policy): ResourceServer | ReadonlySet<string> {
  try {
    return serverOf(policy, shadow);
  } catch (error) {
    if (error instanceof ConfigurationError) return new Set(error.issues.map(({ code }) => code));
    throw error;
  }
}

export const isServer = (started: ReturnType<typeof start>): started is ResourceServer =>
  !(started instanceof Set);

/** A caller, its credential, and its principal if its token is valid. */
export interface Identity {
  readonly caller: Caller;
  readonly authorization: string | undefined;
}

export function identityOf(caller: Caller): Identity {
  if (caller === "none") return { caller, authorization: undefined };
  const token = tokenOf(caller === "rejected" ? { scopes: [], aud: "other" } : caller);
  return { caller, authorization: `Bearer ${token}` };
}

export const ask = (
  server: ResourceServer,
  request: Request,
  { authorization }: Identity,
): Promise<Decision> =>
  server.check({
    method: request.method,
    target: request.path,
    authorization,
    matchedPattern: request.route,
  });

/** A decision in the words of the model. */
export function rulingOf(decision: Decision): Ruling {
  if (decision.allowed) return { result: "allowed", required: [], missing: [] };
  const { reason, condition, acrValues, maxAgeSeconds } = decision;
  const isOfScopes = reason === "scope_insufficient";
  return {
    result: reason,
    ...(condition && { conditions: [condition] }),
    required: isOfScopes ? decision.required.toSorted() : [],
    missing: isOfScopes ? decision.missing.toSorted() : [],
    ...(acrValues && { acrValues }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
  };
}

const IDENTITIES_OF_ALL = Array.from({ length: 400 }, (_, index) =>
  identityOf(callerOf(randomOf(1_000_000 + index))),
);
const NOBODY = [identityOf("none"), identityOf("rejected")];

export const identitiesFor = (random: Random): readonly Identity[] =>
  Array.from({ length: CALLERS_OF_TABLE }, () => random.pick(IDENTITIES_OF_ALL));

/** Compares the tables of one seed, until they made so many decisions. */
export async function compareRandomly(seed: number, decisions: number): Promise<RandomResult> {
  const random = randomOf(seed);
  const tally: Tally = { decisions: 0, tables: 0 };
  const differences: object[] = [];
  const count = (name: string): void => void (tally[name] = (tally[name] ?? 0) + 1);
  while ((tally["decisions"] ?? 0) < decisions && differences.length < 20) {
    const policy = policyOf(random);
    const mistakes = mistakesIn(policy);
    const started = start(policy);
    count("tables");
    for (const mistake of mistakes ?? ["tables that the model can't judge"]) count(mistake);
    const codes = isServer(started) ? new Set() : started;
    if (mistakes && [...mistakes].toSorted().join() !== [...codes].toSorted().join())
      differences.push({ policy, mistakes: [...mistakes], codes: [...codes] });
    if (!isServer(started)) continue;
    const shadow = random.chance(0.3) ? shadowOf(random, policy) : undefined;
    const shadowed = shadow && start(policy, shadow);
    const server = shadowed && isServer(shadowed) ? shadowed : started;
    const identities = identitiesFor(random);
    const principals = new Map<Identity, Principal>();
    for (const identity of identities)
      principals.set(identity, await server.authenticate(identity.authorization?.slice(7) ?? ""));
    for (let made = 0; made < REQUESTS_OF_TABLE; made += 1) {
      const request = requestOf(random, policy);
      const identity = random.pick(random.chance(0.12) ? NOBODY : identities);
      const principal = principals.get(identity);
      const isSynchronous = principal && !request.route && !request.calls && random.chance(0.5);
      const decision = isSynchronous
        ? server.authorize(principal, request.method, request.path)
        : await ask(server, request, identity);
      const ruling = rulingOf(decision);
      const expected = decide(policy, request, identity.caller, NOW);
      count("decisions");
      if (request.calls) count("batches");
      if (request.route) count("routes");
      if (request.method === "MCP") count("operations");
      count([ruling.result, ...(ruling.conditions ?? [])].join(" "));
      if (!isSame(ruling, expected))
        differences.push({ policy, request, caller: identity.caller, expected, ruling });
      if (server === started || !shadow || isSynchronous) continue;
      const expectedShadow = decideShadow(policy, shadow, request, identity.caller, NOW);
      const ofShadow =
        typeof decision.shadow === "object" ? rulingOf(decision.shadow).result : decision.shadow;
      if (ofShadow !== undefined) count("shadows that differ");
      if (ofShadow !== expectedShadow)
        differences.push({
          policy,
          shadow: shadow.custom,
          request,
          caller: identity.caller,
          expectedShadow,
          ofShadow,
        });
    }
  }
  return { tally, differences };
}

const isSame = (first: Ruling, second: Ruling): boolean =>
  first.result === second.result &&
  (first.conditions?.every((condition) => second.conditions?.includes(condition)) ?? !second.conditions) &&
  (first.result !== "scope_insufficient" ||
    (first.required.join() === second.required.join() && first.missing.join() === second.missing.join())) &&
  first.acrValues?.toSorted().join() === second.acrValues?.toSorted().join() &&
  first.maxAgeSeconds === second.maxAgeSeconds;
