/**
 * What a hostile request costs in `server.check`: CPU time of the process per call, the median of several rounds.
 *
 * A request is made once, as a string in memory, and checked again and again: what is measured is everything that the
 * library does with it, and nothing of reading it from a socket. Growing lengths stand side by side, so that a cost per
 * character that grows with the length would show. The built package is measured (`npm run build` first): a loader that
 * translates TypeScript wraps every function, which these times are too short for.
 *
 *     npm run build && npm run bench:hostile
 */
import { createHmac, randomBytes } from "node:crypto";
import type * as scopegate from "scopegate";

const dist = new URL("../dist/index.js", import.meta.url).href;
const { createResourceServer } = (await import(dist)) as typeof scopegate;

const ROUNDS = 9;
const ROUND_US = 20_000;
const secret = randomBytes(32).toString("hex");
const MB = 1_000_000;

const encode = (text: string): string => Buffer.from(text).toString("base64url");

function sign(payload: string): string {
  const input = `${encode('{"alg":"HS256"}')}.${encode(payload)}`;
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

function create(more: Partial<scopegate.ResourceServerOptions> = {}): scopegate.ResourceServer {
  return createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [secret],
    algorithm: "HS256",
    scopeMappings: {
      "GET /files/*path/meta/:id": [],
      "GET /:tenant/*rest": [],
      "GET /:a/*rest/:from-:to/end": [],
      "GET /ranges/:from-:to/:a.:b.:c": [],
      "GET /ranges/:from-:to/x-:a-:b": [],
      "GET /a/*rest/b/c/d": [],
      "GET /:a/:b/:c/:d/*rest": [],
    },
    ...more,
  });
}

type Request = scopegate.AccessRequest;

const withToken = (token: string): Request => ({
  method: "GET",
  target: "/agents",
  authorization: `Bearer ${token}`,
});
const withCookie = (cookie: string): Request => ({ method: "GET", target: "/agents", cookie });
const withPath = (target: string): Request => ({ method: "GET", target });

/** CPU microseconds of one check: rounds long enough to be measured, and the median of them. */
async function measure(server: scopegate.ResourceServer, request: Request): Promise<number> {
  const round = async (calls: number): Promise<number> => {
    const before = process.cpuUsage();
    for (let call = 0; call < calls; call += 1) await server.check(request);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  let calls = 1;
  for (let spent = 0; spent < ROUND_US; spent = await round(calls)) calls *= 2;
  const rounds: number[] = [];
  for (let turn = 0; turn < ROUNDS; turn += 1) rounds.push((await round(calls)) / calls);
  return rounds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

async function outcome(server: scopegate.ResourceServer, request: Request): Promise<string> {
  const decision = await server.check(request);
  return decision.allowed ? "allowed" : (decision.rejection ?? decision.reason);
}

const format = (us: number): string => (us < 100 ? us.toFixed(2) : us.toFixed(0)).padStart(9);

const header = create();
const cookie = create({ tokenSources: [{ cookie: "access_token" }] });
const roomy = create({ maxTokenBytes: 100 * MB });
const nested = `{"scopes":[],"aud":"agents-prod","n":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;

/** What is refused by its length; the last two are read to the end because the limit was raised, for comparison. */
const tokens: readonly (readonly [string, scopegate.ResourceServer, Request])[] = [
  ["an honest token, refused for its scopes", header, withToken(sign('{"scopes":[],"aud":"agents-prod"}'))],
  ["garbage", header, withToken("garbage")],
  ["10 MB token", header, withToken("a".repeat(10 * MB))],
  ["10 MB of dots", header, withToken(".".repeat(10 * MB))],
  ["10 MB of spaces", header, withToken(" ".repeat(10 * MB))],
  ["10 MB that is no token68", header, withToken(`${"a".repeat(10 * MB)}"`)],
  ["10 MB of another scheme", header, { ...withToken(""), authorization: `Basic ${"a".repeat(10 * MB)}` }],
  ["10 MB without a space", header, { ...withToken(""), authorization: "a".repeat(10 * MB) }],
  ["100,000 dots", header, withToken(".".repeat(100_000))],
  ["a payload nested 100,000 deep", header, withToken(sign(nested))],
  ["10 MB token in a cookie", cookie, withCookie(`access_token=${"a".repeat(10 * MB)}`)],
  ["10 MB of empty cookies", cookie, withCookie(";".repeat(10 * MB))],
  ["100 kB of empty cookies", cookie, withCookie(";".repeat(100_000))],
  ["100,000 dots, read (maxTokenBytes raised)", roomy, withToken(".".repeat(100_000))],
  ["a payload nested 100,000 deep, read", roomy, withToken(sign(nested))],
];

/** Paths of a length, most of them for a table whose wildcards and mixed segments have to look at all of it. */
const paths: readonly (readonly [string, (length: number) => string])[] = [
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
  ["encoded texts of the table", (length) => "/%61gents".repeat(length / 9)],
  ["parameters of a segment", (length) => "/agents;v=1".repeat(length / 11)],
  ["mixed segment: separators", (length) => `/ranges/${"-".repeat(length)}`],
  ["mixed segment: nearly", (length) => `/ranges/${"a-".repeat(length / 2)}/${"a.".repeat(length / 2)}`],
  ["mixed segments behind a wildcard", (length) => `/x${"/a-b".repeat(length / 4)}`],
  ["inner wildcard", (length) => `/files${"/meta".repeat(length / 5)}/x`],
  ["inner wildcard, nearly", (length) => `/a${"/b/c".repeat(length / 4)}`],
  ["absolute form, long authority", (length) => `http://${"a".repeat(length)}`],
  ["query", (length) => `/agents?${"a/%".repeat(length / 3)}`],
];

const LENGTHS = [4_000, 16_000, 64_000];

console.log(`server.check, CPU microseconds per call, median of ${ROUNDS} rounds\n`);
console.log(`${"credential".padEnd(44)}${"us".padStart(9)}  outcome`);
for (const [name, server, request] of tokens) {
  const us = await measure(server, request);
  console.log(`${name.padEnd(44)}${format(us)}  ${await outcome(server, request)}`);
}

console.log(
  `\n${"path".padEnd(34)}${LENGTHS.map((length) => `${length / 1000} kB`.padStart(9)).join("")}  outcome`,
);
for (const [name, make] of paths) {
  const times: number[] = [];
  for (const length of LENGTHS) times.push(await measure(header, withPath(make(length))));
  const said = await outcome(header, withPath(make(4_000)));
  console.log(`${name.padEnd(34)}${times.map(format).join("")}  ${said}`);
}
