/** The packed package on Bun, Deno and workerd: the same answers as on Node.js. */
import { createServer, type ServerResponse } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPacked, unpack } from "../package/packed.ts";
import { type Answer, ask, listen } from "../support/http.ts";
import type { Settings } from "./programs/settings.ts";
import { type Case, createCases, issuer, sharing } from "./requests.ts";
import { bundle, runtimes, type Started } from "./runtimes.ts";
import { temporaryFolder } from "../support/folder.ts";

const project = temporaryFolder("runtimes");
const cases = await createCases();

/** How often each key set was fetched, and the responses of the late one that are still to be sent. */
const fetched: Record<string, number> = {};
const late: ServerResponse[] = [];
const send = (response: ServerResponse): void => {
  response.setHeader("content-type", "application/json").end(JSON.stringify(issuer.jwks));
};
const keyServer = createServer(({ url = "" }, response) => {
  fetched[url] = (fetched[url] ?? 0) + 1;
  if (url.startsWith("/late")) late.push(response);
  else if (url === "/failing") response.writeHead(500).end();
  else send(response);
});

let closeKeys: () => Promise<void>;
let settings: Settings;
/** What the application answers on Node.js to the request of each case. */
const expected = new Map<Case, { readonly headers: Record<string, string>; readonly body: unknown }>();

beforeAll(async () => {
  const { port, close } = await listen(keyServer);
  closeKeys = close;
  const at = (path: string): string => `http://127.0.0.1:${port}/${path}`;
  settings = {
    publicPem: issuer.key.verificationKey,
    secret: sharing.key.verificationKey,
    jwksUri: at("keys"),
    lateUri: at("late"),
    failingUri: at("failing"),
  };
  unpack(findPacked(), project, "hono");
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ type: "module", dependencies: { scopegate: "*", hono: "*" } }),
  );
  process.env["SETTINGS"] = JSON.stringify(settings);
  const program = pathToFileURL(await bundle(project, "node")).href;
  const { handle } = (await import(program)) as { readonly handle: (request: Request) => Promise<Response> };
  for (const one of cases) {
    const headers = fieldsOf(one).map(([name, value]): [string, string] => [name, value]);
    const response = await handle(
      new Request(`http://127.0.0.1${one.path ?? "/items/7"}`, { method: one.method ?? "GET", headers }),
    );
    expect(response.status, one.name).toBe(one.status);
    const body: unknown = await response.json();
    expected.set(one, { headers: Object.fromEntries(response.headers), body });
  }
}, 300_000);

afterAll(() => closeKeys());

const fieldsOf = ({ adapter = "fetch", server = "pem", headers = [] }: Case) => [
  ["x-server", server] as const,
  ["x-adapter", adapter] as const,
  ...headers,
];

/** Headers of every response, whatever the application. */
const TRANSPORT = /^(?:connection|content-length|date|keep-alive|transfer-encoding|vary)$/;

const ownHeaders = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !TRANSPORT.test(name)));

it("sends a request for every refusal reason", () => {
  const reasons = new Set(cases.flatMap(({ reason }) => reason ?? []));
  expect([...reasons].sort()).toEqual([
    ...["credential_malformed", "credential_missing", "keys_unavailable", "request_ambiguous"],
    ...["route_unmapped", "scope_insufficient", "token_rejected"],
  ]);
  expect(new Set(cases.flatMap(({ rejection }) => rejection ?? [])).size).toBe(12);
  for (const [{ name, reason }, { body }] of expected)
    expect((body as { readonly code?: string }).code, name).toBe(reason);
});

describe.each(runtimes)("$name", ({ name, binary, start }) => {
  if (binary === undefined) {
    it.skip(`cannot be tested: npm has no build of ${name} for this platform`, () => undefined);
    return;
  }
  let started: Started;
  beforeAll(async () => {
    const ownSettings = { ...settings, lateUri: `${settings.lateUri}/${name}` };
    started = await start(project, binary, JSON.stringify(ownSettings));
  }, 60_000);
  afterAll(() => started.stop());

  it.each(cases)("responds as Node.js does: $name", async (one) => {
    const { method = "GET", path = "/items/7" } = one;
    const answer = await ask(started.port, { method, path, headers: fieldsOf(one) });
    expect(answer.status).toBe(one.status);
    expect({ headers: ownHeaders(answer), body: answer.body }).toEqual(expected.get(one));
  });

  it("fetches a key set once for five requests at the same time", async () => {
    const url = `/late/${name}`;
    const received = async (): Promise<number> => {
      const { body } = await ask(started.port, { path: "/" });
      return (body as { readonly received: number }).received;
    };
    const before = await received();
    const headers = [["x-server", "late"]] as const;
    const token = await issuer.token({ scopes: ["items:7:read"] });
    const answers = Array.from({ length: 5 }, () => ask(started.port, { path: "/items/7", headers, token }));
    await expect.poll(async () => ((await received()) - before) * late.length, { timeout: 5_000 }).toBe(5);
    late.splice(0).forEach(send);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(fetched[url]).toBe(1);
  });
});
