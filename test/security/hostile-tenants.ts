/**
 * Random attacks of a tenant that has an issuer of its own: it signs what it likes, and its record names any URL. The
 * other tenant is the victim. Every attack is wrong by construction, so no code of the package judges it.
 */
import { createHmac, sign } from "node:crypto";
import dns from "node:dns";
import { isIP, Socket } from "node:net";
import { createResourceServer, type ResourceServerOptions } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { issuersFrom, type TrustRecord } from "scopegate/issuers";
import { remoteKeys } from "scopegate/keys";
import { createTestIssuer } from "scopegate/testing";
import { type Random, randomOf } from "../model/random-tables.ts";

export const KINDS = ["claims", "audience", "issuer", "key", "flood", "address"] as const;
export type AttackKind = (typeof KINDS)[number];

export interface AttackSummary {
  readonly kind: AttackKind;
  tried: number;
  /** What was accepted, asked or fetched although it must not be. */
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
  const network = interceptNetwork();
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
      if (summary.kind === "address") {
        summary.successes.push(...(await attackAddress(random, network)));
        continue;
      }
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
    network.restore();
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

function createAttack(kind: Exclude<AttackKind, "address">, setting: Setting): Attack {
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

/** Addresses inside a network, of a machine itself, or of its cloud. */
const PRIVATE_IPV4 = [
  "127.0.0.1",
  "127.8.9.10",
  "10.1.2.3",
  "169.254.169.254",
  "172.16.5.4",
  "192.168.1.1",
  "0.0.0.0",
  "100.64.3.2",
  "168.63.129.16",
  "255.255.255.255",
];
const PRIVATE_IPV6 = ["::1", "::", "fc00::1", "fd00:ec2::254", "fe80::1", "0:0:0:0:0:0:0:1"];

/** Writes an address as URLs can: with other numbers and digits, and inside of IPv6. */
function spellAddress(address: string, random: Random): string {
  const bytes = address.split(".").map(Number);
  const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const [first = 0, second = 0, third = 0, fourth = 0] = bytes;
  const hex = (high: number, low: number) => (high * 256 + low).toString(16);
  const groups = `${hex(first, second)}:${hex(third, fourth)}`;
  const part = (byte: number) =>
    random.pick([String(byte), `0x${byte.toString(16)}`, `0${byte.toString(8)}`]);
  const wide = (text: string) =>
    text.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  return random.pick([
    address,
    `${address}.`,
    String(number),
    `0x${number.toString(16)}`,
    `0${number.toString(8)}`,
    bytes.map(part).join("."),
    `${part(first)}.${String(number % 2 ** 24)}`,
    `${part(first)}.${part(second)}.${String(number % 2 ** 16)}`,
    wide(address),
    address.replaceAll(".", "\u3002"),
    address.replace(/[0-9]/, (digit) => `%3${digit}`),
    `[::ffff:${address}]`,
    `[::ffff:${groups}]`,
    `[::${groups}]`,
    `[64:ff9b::${groups}]`,
    `[2002:${groups}::]`,
    `[0:0:0:0:0:FFFF:${groups}]`,
  ]);
}

const LOCAL = ["localhost", "LOCALHOST", "localhost.", "api.localhost", "loca%6chost", "\uff4cocalhost"];

/** What an attacker's record, its metadata, its redirects and its name server can point to. */
async function attackAddress(random: Random, network: Network): Promise<readonly string[]> {
  const tenant = createTenant("mallory");
  const way = random.pick(["jwks", "discovery", "metadata", "redirect"] as const);
  const host = random.pick([
    spellAddress(random.pick(PRIVATE_IPV4), random),
    `[${random.pick(PRIVATE_IPV6)}]`,
    random.pick(LOCAL),
    // A `fetch` of the record resolves names by itself.
    ...(way === "metadata" ? [] : ["keys.example"]),
  ]);
  const user = random.pick(["", "", "keys.example@", "keys.example:443@"]);
  const path = random.pick([
    "keys",
    ".well-known/openid-configuration",
    "latest/meta-data/?@keys.example",
    "#@keys.example",
  ]);
  const url = `${random.pick(["https", "https", "https", "http"])}://${user}${host}${random.pick(["", ":443", ":8443"])}/${path}`;
  const inNetwork = [...PRIVATE_IPV4, ...PRIVATE_IPV6, "::ffff:127.0.0.1", "::ffff:7f00:1", "2002:7f00:1::"];
  network.addresses = random.pick([
    [random.pick(inNetwork)],
    [random.pick(inNetwork), "8.8.8.8"],
    ["8.8.8.8", random.pick(inNetwork)],
    [],
  ]);
  network.connected.length = 0;
  const fetched: string[] = [];
  // A server at a public address, which answers with a URL in the network.
  const fetch = (asked: string) => {
    fetched.push(asked);
    const document = { issuer: tenant.record.issuer, jwks_uri: url };
    return Promise.resolve(
      way === "redirect"
        ? new Response(null, { status: 302, headers: { location: safeHeader(url) } })
        : Response.json(document),
    );
  };
  const keys = {
    jwks: () => remoteKeys({ jwksUri: url }),
    discovery: () => remoteKeys({ discovery: url }),
    metadata: () => remoteKeys({ discovery: true, fetch }),
    redirect: () => remoteKeys({ jwksUri: "https://public.example/keys", fetch }),
  }[way]();
  const record = { ...tenant.record, keys } as TrustRecord;
  const { server } = startFinding(new Map([[record.issuer, record]]), () => START);
  const authorization = `Bearer ${await tenant.issuer.token({ scopes: ["orgs:read"] })}`;
  const { allowed } = await server.check({ method: "GET", target: "/orgs/mallory", authorization });
  await server.close();
  return [
    ...(allowed ? [`${way} ${url} was accepted`] : []),
    ...network.connected.map((address) => `${way} ${url} connected to ${address}`),
    ...fetched.slice(1).map((second) => `${way} fetched ${second}`),
  ];
}

/** A header can only have bytes. */
const safeHeader = (url: string): string => url.replaceAll(/[^\u0020-\u00ff]/g, encodeURIComponent);

/** What this process would have sent, and what names resolve to. */
interface Network {
  addresses: readonly string[];
  /** The addresses that a socket would have connected to. */
  readonly connected: string[];
  readonly restore: () => void;
}

/** Lets no socket connect: it only notes the address. Names have the addresses that an attack sets. */
export function interceptNetwork(): Network {
  const { lookup } = dns;
  const connect = Reflect.get(Socket.prototype, "connect");
  const emitWarning = Reflect.get(process, "emitWarning");
  const network: Network = {
    addresses: [],
    connected: [],
    restore() {
      dns.lookup = lookup;
      Socket.prototype.connect = connect;
      process.emitWarning = emitWarning;
    },
  };
  process.emitWarning = () => undefined;
  dns.lookup = ((_name: string, _options: object, callback: (...values: unknown[]) => void) => {
    const found = network.addresses.map((address) => ({ address, family: isIP(address) }));
    setImmediate(() => callback(null, found));
  }) as never;
  Socket.prototype.connect = function (this: Socket, ...values: unknown[]) {
    const [options] = (Array.isArray(values[0]) ? values[0] : values) as [Connecting];
    const end = (error: Error | null, addresses: readonly { readonly address: string }[] = []) => {
      if (!error) network.connected.push(...addresses.map(({ address }) => address));
      this.destroy(error ?? new Error("Nothing is sent."));
    };
    const { host = "localhost", lookup: lookUp = dns.lookup } = options;
    if (isIP(host) === 0) lookUp(host, { all: true }, end);
    else setImmediate(() => end(null, [{ address: host }]));
    return this;
  };
  return network;
}

interface Connecting {
  readonly host?: string;
  readonly lookup?: (
    host: string,
    options: object,
    callback: (error: Error | null, addresses?: readonly { readonly address: string }[]) => void,
  ) => void;
}
