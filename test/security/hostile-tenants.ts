/**
 * Random attacks of a tenant that has an issuer of its own and signs what it likes. The other tenant is the victim. Every
 * attack is wrong by construction, so no code of the package judges it.
 */
import { createHmac, sign } from "node:crypto";
import { createResourceServer, type ResourceServerOptions } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { issuersFrom, type TrustRecord } from "scopegate/issuers";
import { createTestIssuer } from "scopegate/testing";
import { type Random, randomOf } from "../model/random-tables.ts";

export const KINDS = ["claims", "audience", "issuer", "key", "flood"] as const;
export type AttackKind = (typeof KINDS)[number];

export interface AttackSummary {
  readonly kind: AttackKind;
  tried: number;
  /** What was accepted or asked although it must not be. */
  readonly successes: string[];
}

const START = 1_700_000_000_000;
const ADMIN = "platform:admin";
const AUDIENCE = "agents-prod";
const FRESH_SECONDS = 60;
/** What the documentation promises: so many new names at once, and so many more each second. */
const [NAMES_AT_ONCE, NAMES_PER_SECOND] = [100, 20];

function createTenant(name: string) {
  const issuer = createTestIssuer({
    issuer: `https://login.${name}.example`,
    audience: AUDIENCE,
    kid: "key-1",
    now: () => START,
  });
  const record: TrustRecord = { ...issuer.trustedIssuer, tenant: name, scopes: ["orgs:read", "orgs:admin"] };
  return { name, issuer, record };
}

type Tenant = ReturnType<typeof createTenant>;

const POLICY: Partial<ResourceServerOptions> = {
  serviceId: AUDIENCE,
  audienceOnly: true,
  adminScope: ADMIN,
  impliedScopes: { root: [ADMIN], "orgs:admin": ["orgs:read", "orgs:cross"] },
  scopeMappings: {
    "* /orgs/:org{/*path}": {
      scopes: ["orgs:read"],
      where: { org: { tenant: true } },
      unless: ["orgs:cross"],
    },
    "GET /admin": [ADMIN],
    "GET /reports": ["reports:read"],
  },
  conditions: callerConditions(),
};

const VICTIMS_PATHS = [
  "/orgs/acme",
  "/orgs/acme/users",
  "/orgs/acme/",
  "/orgs/ACME",
  "/orgs/acme%2fx",
  "/admin",
  "/reports",
];

/** Starts a server that finds its issuers, and counts its questions. */
function startFinding(records: ReadonlyMap<string, TrustRecord>, now: () => number) {
  const questions: (readonly unknown[])[] = [];
  const find = (...asked: readonly [string]) => {
    questions.push(asked);
    return records.get(asked[0]);
  };
  const issuers = issuersFrom(find, { freshSeconds: FRESH_SECONDS });
  return { server: createResourceServer({ ...POLICY, issuers, now }), questions };
}

/** How many tokens of different issuers one attack of a flood sends. */
const FLOOD_TOKENS = 4;

/** The settings of a run: each seed makes the same attacks. */
interface AttackOptions {
  readonly tries: number;
  readonly seed: number;
}

/** Runs attacks of all kinds in turn. */
export async function runTenants({ tries, seed }: AttackOptions): Promise<readonly AttackSummary[]> {
  const random = randomOf(seed);
  const [victim, attacker] = [createTenant("acme"), createTenant("mallory")];
  let now = START;
  const records = new Map([victim, attacker].map(({ record }) => [record.issuer, record]));
  const { server: finding, questions } = startFinding(records, () => now);
  const listing = createResourceServer({
    ...POLICY,
    issuers: [victim.record, attacker.record],
    now: () => now,
  });
  const summaries = KINDS.map((kind): AttackSummary => ({ kind, tried: 0, successes: [] }));
  const names = new Set<unknown>([victim.record.issuer, attacker.record.issuer]);

  const statusOf = async (server: typeof finding, token: string, target: string): Promise<number> => {
    const request = { method: "GET", target, authorization: `Bearer ${token}` };
    const decision = await server.check(request);
    return decision.allowed ? 200 : server.refuse(decision).status;
  };

  try {
    for (const { issuer, name } of [victim, attacker])
      for (const server of [finding, listing]) {
        const own = await issuer.token({ scopes: ["orgs:read"] });
        // Without this, the attacks could be refused only because nothing works.
        if ((await statusOf(server, own, `/orgs/${name}`)) !== 200) throw new Error("A tenant is refused.");
      }
    for (let index = 0; index < tries; index += 1) {
      const summary = summaries[index % summaries.length];
      if (!summary) break;
      summary.tried += 1;
      now += random.below(10);
      const isFlood = summary.kind === "flood";
      const server = isFlood || random.chance(0.5) ? finding : listing;
      for (let count = 0; count < (isFlood ? FLOOD_TOKENS : 1); count += 1) {
        const setting = { random, victim, attacker, id: `${index}-${count}` };
        const { token, iss, target } = createAttack(summary.kind, setting);
        names.add(iss);
        const status = await statusOf(server, token, target);
        if (status < 400 || status >= 500) summary.successes.push(`${status} ${target} ${token}`);
      }
      summary.successes.push(...findWrongQuestions(questions, names, now));
    }
  } finally {
    await Promise.all([finding.close(), listing.close()]);
  }
  return summaries;
}

/** Returns the questions that no rule allows: too many, or with anything but an exact `iss`. */
function findWrongQuestions(
  questions: readonly (readonly unknown[])[],
  names: ReadonlySet<unknown>,
  now: number,
): readonly string[] {
  const seconds = (now - START) / 1_000;
  const again = 2 * Math.ceil(seconds / FRESH_SECONDS);
  const limit = NAMES_AT_ONCE + NAMES_PER_SECOND * seconds + again;
  const last = questions.at(-1) ?? [];
  return [
    ...(questions.length > limit ? [`${questions.length} questions`] : []),
    ...(last.length !== 1 || !names.has(last[0]) ? [`question ${JSON.stringify(last)}`] : []),
  ];
}

interface Attack {
  readonly token: string;
  readonly iss: unknown;
  readonly target: string;
}

interface Setting {
  readonly random: Random;
  readonly victim: Tenant;
  readonly attacker: Tenant;
  readonly id: string;
}

const GRANTS = [
  ["orgs:read"],
  ["orgs:read", "orgs:cross"],
  ["orgs:admin"],
  ["root", ADMIN, "reports:read", "*", "orgs:*:read"],
];
const FOREIGN: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { tenant: "acme", org: "acme", org_id: "acme", tid: "acme" },
  { tenant: ["acme", "mallory"] },
  { tenant: true, ["__proto__"]: { tenant: "acme" } },
  { principal: { tenant: "acme" }, constructor: { tenant: "acme" } },
  { sub: "user-1", azp: "acme", client_id: "acme", act: { sub: "acme" } },
  { cnf: {}, scope: "orgs:cross", permissions: ["orgs:cross"], groups: ["acme"] },
];

function createAttack(kind: AttackKind, setting: Setting): Attack {
  const { random, victim, attacker, id } = setting;
  const claims: Record<string, unknown> = {
    sub: "user-1",
    jti: id,
    aud: AUDIENCE,
    iss: attacker.record.issuer,
    iat: START / 1_000,
    exp: START / 1_000 + 100_000,
    scopes: random.pick(GRANTS),
    ...random.pick(FOREIGN),
  };
  const header: Record<string, unknown> = {
    alg: "ES256",
    typ: "JWT",
    kid: random.pick(["key-1", undefined, "key-2", ""]),
  };
  let [target, how] = [random.pick(VICTIMS_PATHS), "own key" as SigningWay];
  if (kind === "audience") {
    claims["aud"] = wrongAudience(random, victim);
    // Its own tenant, so that only the audience is wrong.
    target = "/orgs/mallory";
    header["kid"] = "key-1";
    claims["scopes"] = ["orgs:read"];
  }
  if (kind === "issuer") claims["iss"] = spell(victim.record.issuer, random);
  if (kind === "flood")
    claims["iss"] = `https://login-${id}.${random.pick(["acme", "x"])}.example${random.pick(["", "/"])}`;
  if (kind === "key") {
    claims["iss"] = victim.record.issuer;
    how = random.pick(["own key", "secret", "none", "other signature"] as const);
    const { publicJwk } = attacker.issuer.key;
    const hints = [
      {},
      { jwk: publicJwk },
      { jku: "https://mallory.example/keys" },
      { x5u: "https://mallory.example/c" },
    ];
    Object.assign(header, random.pick(hints));
    if (how === "secret") header["alg"] = random.pick(["HS256", "HS384", "HS512", "hs256"]);
    if (how === "none") header["alg"] = random.pick(["none", "None", "NONE", ""]);
  }
  return { token: seal(header, claims, how, setting), iss: claims["iss"], target };
}

const wrongAudience = (random: Random, { record }: Tenant): unknown =>
  random.pick([
    undefined,
    null,
    "",
    [],
    [""],
    "AGENTS-PROD",
    `${AUDIENCE} `,
    ` ${AUDIENCE}`,
    `${AUDIENCE}/`,
    `${AUDIENCE}\u0000`,
    `${AUDIENCE},other`,
    `${AUDIENCE} other`,
    [AUDIENCE, "billing"],
    ["billing", AUDIENCE],
    [[AUDIENCE]],
    { 0: AUDIENCE, length: 1 },
    { [AUDIENCE]: true },
    [AUDIENCE, null],
    [AUDIENCE, 1],
    record.issuer,
    "*",
    "agents",
    true,
    encodeURIComponent(`${AUDIENCE}?`),
  ]);

/** An `iss` that some program could read as the issuer itself. */
function spell(issuer: string, random: Random): unknown {
  const place = 1 + random.below(issuer.length - 1);
  const [before, after] = [issuer.slice(0, place), issuer.slice(place)];
  const letter = issuer[place] ?? "";
  return random.pick<unknown>([
    issuer,
    `${issuer}${random.pick(["/", "#", "?", ":443", " ", "\u0000", "\u200b", "/.", "//", "/../", "%00", "\n", "@mallory.example"])}`,
    `${random.pick([" ", "\ufeff", "\t", "https://x@", "//"])}${issuer}`,
    `${before}${letter.toUpperCase()}${after.slice(1)}`,
    `${before}%${(letter.codePointAt(0) ?? 0).toString(16)}${after.slice(1)}`,
    `${before}${random.pick(["\u00ad", "\u200b", "\u0301", "."])}${after}`,
    issuer.replace("https:", random.pick(["http:", "HTTPS:", "https:/", "wss:"])),
    issuer.replace("a", "\u0430"),
    [issuer],
    [issuer, "https://login.mallory.example"],
    { toString: issuer },
    { 0: issuer },
    random.pick([null, true, 0, "", "__proto__", "constructor", "toString"]),
  ]);
}

type SigningWay = "own key" | "secret" | "none" | "other signature";

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signs as an attacker can: with its own key, and with everything that is public. */
function seal(
  header: object,
  claims: object,
  how: SigningWay,
  { victim, attacker, random }: Setting,
): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  const { verificationKey, publicJwk } = victim.issuer.key;
  const secret = random.pick([verificationKey, verificationKey.trim(), JSON.stringify(publicJwk), ""]);
  const signature = {
    "own key": () =>
      sign("sha256", Buffer.from(signed), { key: attacker.issuer.key.privateKey, dsaEncoding: "ieee-p1363" }),
    secret: () => createHmac("sha256", secret).update(signed).digest(),
    none: () => Buffer.alloc(0),
    "other signature": () => Buffer.alloc(64, random.pick([0, 1, 255])),
  }[how]();
  return `${signed}.${signature.toString("base64url")}`;
}
