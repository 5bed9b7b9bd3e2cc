/** No header but the credential, no query parameter and no member of a body changes a decision, or says who is calling. */
import { Agent } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Decision } from "scopegate";
import { type Asked, ask } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { exchange, render } from "../support/raw-http.ts";
import { createResourceServer } from "../support/server.ts";
import { applications, type Called, type Route, type Running } from "./applications.ts";

const issuer = createIssuer();
const ADMIN = await issuer.token({ scopes: ["platform:admin"], sub: "root" });

type Field = readonly [name: string, value: string];

/** Names and values of one field each, in all combinations; or several fields of one request. */
const LINES = `
X-Original-URL X-Original-URI X_Original_URL X-Original-Path X-Rewrite-URL: /open | /items/8
X-Forwarded-URI X-Forwarded-Path X-Forwarded-Prefix X-Envoy-Original-Path: /open | /items/8
X-Replaced-Path X-Proxy-URL X-Accel-Redirect X-Matched-Path Script-Name: /open | /items/8
Referer Content-Location Destination: /open | /items/8
X-HTTP-Method-Override X-HTTP-Method X-Method-Override X-Original-Method: GET | HEAD | OPTIONS
X-Forwarded-Method Access-Control-Request-Method: GET | HEAD | OPTIONS
Proxy-Authorization Authentication Authentication-Info X-Authorization: Bearer ${ADMIN}
X-Original-Authorization X-Forwarded-Authorization X-Access-Token X-Forwarded-Access-Token: Bearer ${ADMIN}
X-Auth-Token X-API-Key X-JWT-Assertion Sec-WebSocket-Protocol __proto__: Bearer ${ADMIN}
X-User X-User-Id X-Forwarded-User X_Forwarded_User X-Remote-User Remote-User X-Auth-Request-User: root
X-Authenticated-Userid X-Consumer-Username From: root
X-Scope X-Scopes X-Authenticated-Scope X-Roles Scope: platform:admin items:7:read
X-Client-Cert X-Forwarded-Client-Cert X-SSL-Client-Verify X-Client-Verify: SUCCESS
X-Real-IP X-Forwarded-For X-Client-IP True-Client-IP X-Forwarded-Host X-Host: 127.0.0.1
X-Access-Token: ${ADMIN}
X-Forwarded-Uri: http://127.0.0.1/open
X-Forwarded-Proto: https
X-Forwarded-Port: 443
Forwarded: for=127.0.0.1;host=localhost;proto=https;path="/open"
Via: 1.1 localhost
X-Middleware-Subrequest: middleware:middleware:middleware:middleware:middleware
X-Internal-Request: true
X-Debug: 1
Origin: https://app.example + Access-Control-Request-Method: GET + Access-Control-Request-Headers: authorization
Sec-Fetch-Site: same-origin + Sec-Fetch-Mode: navigate + Sec-Fetch-Dest: document
Connection: Upgrade + Upgrade: websocket + Sec-WebSocket-Version: 13 + Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
Connection: Upgrade, HTTP2-Settings + Upgrade: h2c + HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA
Connection: close, authorization
Connection: authorization
TE: trailers
Expect: 100-continue
Cookie: access_token=${ADMIN}; token=${ADMIN}; authorization=Bearer ${ADMIN}
Accept: text/html
Accept: application/json;q=0, */*;q=0
Accept-Encoding: identity;q=0
Accept-Language: ../open
Range: bytes=0-0
If-None-Match: *
If-Match: "none"
Cache-Control: no-cache
Pragma: no-cache
User-Agent: ELB-HealthChecker/2.0
X-Requested-With: XMLHttpRequest
constructor: allowed`;

const HEADERS = LINES.trim()
  .split("\n")
  .flatMap((line): readonly (readonly Field[])[] => {
    const parts = line.split(" + ").map((part) => /^(.*?): (.*)$/.exec(part) ?? []);
    const [[, names = "", values = ""] = []] = parts;
    if (parts.length > 1) return [parts.map(([, name = "", value = ""]) => [name, value])];
    return names.split(" ").flatMap((name) => values.split(" | ").map((value) => [[name, value] as const]));
  });

const parameters: readonly Field[] = [
  ["access_token", ADMIN],
  ["token", ADMIN],
  ["authorization", `Bearer ${ADMIN}`],
  ["_method", "HEAD"],
  ["method", "OPTIONS"],
  ["scope", "platform:admin"],
  ["scopes[]", "items:7:read"],
  ["user", "root"],
  ["id", "8"],
  ["url", "/open"],
  ["path", "/open"],
  ["__proto__[authorization]", `Bearer ${ADMIN}`],
];
const QUERIES: readonly (readonly [name: string, query: string])[] = parameters.map(([name, value]) => [
  name,
  new URLSearchParams([[name, value]]).toString(),
]);

const routes = (called: string[]): readonly Route[] => {
  const handle = ({ principal, params }: Called): string => {
    called.push(`${principal?.userId ?? "nobody"} ${params["id"] ?? ""}`);
    return "ran";
  };
  return [
    { method: "GET", path: "/items/:id", handle },
    { method: "POST", path: "/items/:id", handle },
    { method: "ALL", path: "/open", handle },
  ];
};

/** Both routes of the same path, each asked by somebody who may use the other one, or another id. */
const GET = { method: "GET", needed: ["items:7:read"], other: ["items:8:read", "items:7:write"] };
const POST = { method: "POST", other: ["items:8:write", "items:7:read"] };
const CALLERS = [
  { method: GET.method, token: undefined, status: 401 },
  { method: GET.method, token: await issuer.token({ scopes: GET.other }), status: 403 },
  { method: GET.method, token: await issuer.token({ scopes: GET.needed }), status: 200 },
  // The method matters to the scopes only.
  { method: POST.method, token: await issuer.token({ scopes: POST.other }), status: 403 },
];

interface Outcome {
  readonly status: number;
  readonly challenge: unknown;
  readonly code: unknown;
  readonly ran: readonly string[];
  readonly called: readonly string[];
  readonly decisions: readonly unknown[];
}

const describeDecision = (decision: Decision) => ({
  allowed: decision.allowed,
  rule: decision.rule?.key,
  caller: decision.principal?.userId,
  ...(!decision.allowed && { reason: decision.reason }),
});

describe.each(applications)("$name", (application) => {
  const called: string[] = [];
  const decisions: unknown[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let running: Running;
  let plain: readonly Outcome[];

  beforeAll(async () => {
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      adminScope: "platform:admin",
      scopeMappings: {
        "GET /items/:id": ["items:<id>:read"],
        "POST /items/:id": ["items:<id>:write"],
        // Looser than the rules that the requests are sent to.
        "OPTIONS /items/:id": "public",
        "* /open": "public",
      },
      onDecision: (decision) => decisions.push(describeDecision(decision)),
    });
    running = await application.start({ server, routes: routes(called) });
    plain = await outcomes({ path: "/items/7" });
  });
  afterAll(async () => {
    agent.destroy();
    await running.close();
  });

  async function outcomeOf(asked: Asked): Promise<Outcome> {
    for (const list of [running.ran, called, decisions]) list.length = 0;
    const { status, headers, body } = await ask(running.port, { ...asked, agent });
    return {
      // The handler of an allowed conditional request has run as well; its framework left the content out.
      status: status === 304 ? 200 : status,
      challenge: headers["www-authenticate"],
      code: (body as { readonly code?: unknown } | null)?.code,
      ran: [...running.ran],
      called: [...called],
      decisions: [...decisions],
    };
  }

  async function outcomes(asked: Asked): Promise<readonly Outcome[]> {
    const observed: Outcome[] = [];
    for (const { method, token } of CALLERS) {
      // Fastify wants to know the type of what a POST carries.
      const body = asked.body ?? (method === "POST" ? {} : undefined);
      observed.push(await outcomeOf({ ...asked, method, token, body }));
    }
    return observed;
  }

  it("allows the callers with the right scopes, and no others", () => {
    expect(plain.map(({ status }) => status)).toEqual(CALLERS.map(({ status }) => status));
    expect(plain.map(({ ran }) => ran)).toEqual(
      CALLERS.map(({ method, status }) => (status === 200 ? [`${method} /items/:id`] : [])),
    );
    expect(plain.flatMap((outcome) => outcome.called)).toEqual(["user-1 7"]);
    expect(plain.every((outcome) => outcome.decisions.length === 1)).toBe(true);
  });

  it.each(
    HEADERS.map(
      (fields) => [fields.map((field) => field.join(": ").slice(0, 70)).join(", "), fields] as const,
    ),
  )("decides the same way with %s", async (_, headers) => {
    expect(await outcomes({ path: "/items/7", headers })).toEqual(plain);
  });

  it.each(QUERIES)("decides the same way with the query parameter %s", async (_, query) => {
    expect(await outcomes({ path: `/items/7?${query}` })).toEqual(plain);
  });

  it("decides the same way for any body", async () => {
    const body = Object.fromEntries(parameters);
    expect(await outcomes({ path: "/items/7", body })).toEqual(plain);
  });

  const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);

  it("reads no token from a form (RFC 6750 section 2.2), which another site could make a browser send", async () => {
    const body = QUERIES.map(([, query]) => query).join("&");
    const fields: Field[] = [
      ["Host", "agents.example"],
      ["Connection", "close"],
      ["Content-Type", "application/x-www-form-urlencoded"],
      ["Content-Length", String(body.length)],
    ];
    for (const method of ["GET", "POST"]) {
      running.ran.length = 0;
      expect(
        statusOf(await exchange(running.port, render(`${method} /items/7 HTTP/1.1`, fields, body))),
      ).toBe(401);
      expect(running.ran).toEqual([]);
    }
  });

  const HOST = ["Host", "agents.example"] as const;
  it.each<[string, string, readonly Field[]]>([
    ["no Host at all", "HTTP/1.0", []],
    ["another Host", "HTTP/1.1", [["Host", "other.example"]]],
    ["an empty Host", "HTTP/1.1", [["Host", ""]]],
    ["a Host with a path", "HTTP/1.1", [["Host", "other.example/open?"]]],
    ["several Hosts", "HTTP/1.1", [HOST, ["Host", "other.example"]]],
    ["a body in pieces", "HTTP/1.1", [HOST, ["Transfer-Encoding", "chunked"]]],
  ])("decides the same way with %s", async (name, version, fields) => {
    for (const { method, token, status } of CALLERS) {
      running.ran.length = 0;
      const credential: Field[] = token === undefined ? [] : [["Authorization", `Bearer ${token}`]];
      const isChunked = fields.some(([name]) => name === "Transfer-Encoding");
      const answer = await exchange(
        running.port,
        render(
          `${method} /items/7 ${version}`,
          [...fields, ["Connection", "close"], ["Content-Type", "application/json"], ...credential],
          isChunked ? "2\r\n{}\r\n0\r\n\r\n" : "",
        ),
      );
      const isUnreadable = application.parsesUrl && /^no|empty|path/.test(name);
      expect(statusOf(answer)).toBe(isUnreadable ? 400 : status);
      expect(running.ran).toEqual(status === 200 && !isUnreadable ? [`${method} /items/:id`] : []);
    }
  });

  it("reads no credential from the trailers of a body", async () => {
    const fields: Field[] = [
      ["Host", "agents.example"],
      ["Connection", "close"],
      ["Transfer-Encoding", "chunked"],
      ["Trailer", "Authorization"],
      ["Content-Type", "application/json"],
    ];
    const body = `2\r\n{}\r\n0\r\nAuthorization: Bearer ${ADMIN}\r\n\r\n`;
    running.ran.length = 0;
    expect(statusOf(await exchange(running.port, render("POST /items/7 HTTP/1.1", fields, body)))).toBe(401);
    expect(running.ran).toEqual([]);
  });
});
