/** Requests that try to make the guard slow: very long credentials and paths, in unusual forms. */
import { createHmac, randomBytes } from "node:crypto";
import type { AccessRequest, ResourceServer, ResourceServerOptions, ScopeMappings } from "scopegate";
import type * as scopegateTrpc from "scopegate/trpc";
import { agentScopeMappings, createResourceServer, importEntry } from "./built.ts";

const { trpcBatches } = await importEntry<typeof scopegateTrpc>("trpc");

const secret = randomBytes(32).toString("hex");
const MB = 1_000_000;

const encode = (text: string): string => Buffer.from(text).toString("base64url");

function sign(payload: string): string {
  const input = `${encode('{"alg":"HS256"}')}.${encode(payload)}`;
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

function create(more: Partial<ResourceServerOptions> = {}): ResourceServer {
  return createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [secret],
    algorithm: "HS256",
    batches: trpcBatches(),
    ...more,
  });
}

/** A server whose table has only these rules. */
export const createServerWith = (
  scopeMappings: ScopeMappings,
  more: Partial<ResourceServerOptions> = {},
): ResourceServer => create({ scopeMappings, ...more });

type Request = AccessRequest;

const withToken = (token: string): Request => ({
  method: "GET",
  target: "/agents",
  authorization: `Bearer ${token}`,
});
const withCookie = (cookie: string): Request => ({ method: "GET", target: "/agents", cookie });
export const withPath = (target: string): Request => ({ method: "GET", target });

/** The table of agents and a few rules of one service. */
export const realistic = create({
  scopeMappings: {
    ...agentScopeMappings,
    "GET /reports": ["reports:read"],
    "GET /reports/:report_id": ["reports:<report_id>:read"],
    "POST /reports/:report_id/runs/:run_id": ["reports:<report_id>:run"],
    "GET /files/*path": ["files:read"],
  },
});
/** Wildcards, parameters and texts behind them, for which the whole of a long path must be read. */
export const adversarial = create({
  scopeMappings: {
    ...agentScopeMappings,
    "GET /files/:path.meta/*id": [],
    "GET /:tenant/*rest": [],
    "GET /:a-b/:c-b/:d-b/*rest": [],
    "GET /ranges/:from-b-b/:a.b": [],
    "GET /ranges/:from-b/:a.b.b": [],
    "GET /a/:b/c/*rest": [],
    "GET /:a/:b/:c/:d/*rest": [],
  },
});
const cookie = create({ scopeMappings: agentScopeMappings, tokenSources: [{ cookie: "access_token" }] });
const roomy = create({ scopeMappings: agentScopeMappings, maxTokenBytes: 100 * MB });
const nested = `{"scopes":[],"aud":"agents-prod","n":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;

/** Most of these are refused at once for their length. With a higher limit, the last two show the cost of reading. */
export const tokens: readonly (readonly [string, ResourceServer, Request])[] = [
  [
    "an honest token, refused for its scopes",
    realistic,
    withToken(sign('{"scopes":[],"aud":"agents-prod"}')),
  ],
  ["garbage", realistic, withToken("garbage")],
  ["10 MB token", realistic, withToken("a".repeat(10 * MB))],
  ["10 MB of dots", realistic, withToken(".".repeat(10 * MB))],
  ["10 MB of spaces", realistic, withToken(" ".repeat(10 * MB))],
  ["10 MB that is not a token68", realistic, withToken(`${"a".repeat(10 * MB)}"`)],
  ["10 MB of another scheme", realistic, { ...withToken(""), authorization: `Basic ${"a".repeat(10 * MB)}` }],
  ["10 MB without a space", realistic, { ...withToken(""), authorization: "a".repeat(10 * MB) }],
  ["100,000 dots", realistic, withToken(".".repeat(100_000))],
  ["a payload nested 100,000 deep", realistic, withToken(sign(nested))],
  ["10 MB token in a cookie", cookie, withCookie(`access_token=${"a".repeat(10 * MB)}`)],
  ["10 MB of empty cookies", cookie, withCookie(";".repeat(10 * MB))],
  ["100 kB of empty cookies", cookie, withCookie(";".repeat(100_000))],
  ["100,000 dots, read (maxTokenBytes raised)", roomy, withToken(".".repeat(100_000))],
  ["a payload nested 100,000 deep, read", roomy, withToken(sign(nested))],
];

/** Paths of a given length. Most of them aim at the adversarial table. */
export const paths: readonly (readonly [string, (length: number) => string])[] = [
  ["slashes", (length) => "/".repeat(length)],
  ["short segments", (length) => "/a".repeat(length / 2)],
  ["short segments, slash at the end", (length) => `${"/a".repeat(length / 2)}/`],
  ["one long segment", (length) => `/${"a".repeat(length)}`],
  ["dots", (length) => `/${".".repeat(length)}`],
  ["dot-like segments", (length) => "/...".repeat(length / 4)],
  ["percent signs", (length) => `/${"%".repeat(length)}`],
  ["percent-encoded letters", (length) => `/${"%61".repeat(length / 3)}`],
  ["bad UTF-8 at the end", (length) => `/${"%61".repeat(length / 3)}%ff`],
  ["upper case", (length) => "/AGENTS".repeat(length / 7)],
  ["encoded segments of the table", (length) => "/%61gents".repeat(length / 9)],
  ["upper case, not in the table", (length) => "/X".repeat(length / 2)],
  ["encoded letters, not in the table", (length) => "/%78".repeat(length / 4)],
  ["encoded letters beyond ASCII", (length) => "/%c3%a9".repeat(length / 7)],
  ["path parameters", (length) => "/agents;v=1".repeat(length / 11)],
  ["mixed segment: separators", (length) => `/ranges/${"-".repeat(length)}`],
  ["mixed segment: nearly", (length) => `/ranges/${"a-".repeat(length / 2)}/${"a.".repeat(length / 2)}`],
  ["mixed segments behind a wildcard", (length) => `/x${"/a-b".repeat(length / 4)}`],
  ["inner wildcard", (length) => `/files${"/meta".repeat(length / 5)}/x`],
  ["inner wildcard, nearly", (length) => `/a${"/b/c".repeat(length / 4)}`],
  ["absolute form, long host", (length) => `http://${"a".repeat(length)}`],
  ["absolute form, characters that are encoded", (length) => `http://a/${'"'.repeat(length)}`],
  [
    "absolute form, as many encoded characters as allowed",
    (length) => `http://a/${'"'.repeat(100)}${"/a".repeat((length - 100) / 2)}`,
  ],
  ["query", (length) => `/agents?${"a/%".repeat(length / 3)}`],
];
