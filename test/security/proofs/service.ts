/** The service that the attacks are sent to: five hosts with real sockets, and `ResourceServer.check`. */
import type { AccessRequest, Decision, ResourceServer } from "scopegate";
import type { SenderConstraintOptions } from "scopegate/sender-constraint";
import { type Application, applications, type Route, type Running } from "../../conformance/applications.ts";
import { exchange, render } from "../../support/raw-http.ts";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";
import { pemOf } from "../tokens/forge.ts";
import { NONCE_SECRET, NOW, ORIGIN, type Sent, type ServerName, TARGET } from "./forge.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const RULE = ["agents:read"];

const OPTIONS: ResourceServerOptions = {
  serviceId: "agents-prod",
  verificationKeys: [pemOf("rsa")],
  now: () => NOW * 1_000,
  scopeMappings: {
    "GET /agents": RULE,
    "GET /agents/:id": RULE,
    "POST /agents/:id": RULE,
    "PUT /agents/:id": RULE,
    "DELETE /agents/:id": RULE,
    "GET /payments": { scopes: RULE, senderConstrained: true },
  },
};

type Constraint = SenderConstraintOptions;
type Dpop = NonNullable<Constraint["dpop"]>;

export interface Service {
  readonly server: ResourceServer;
  /** Returns the refusals since the last call. */
  readonly takeRefusals: () => readonly Decision[];
}

/** Creates a server that accepts the tokens of `forge.ts` with proofs for `ORIGIN`; with `none`, without proofs. */
export function createService(
  dpop: Partial<Dpop> | "none" = {},
  options: Partial<ResourceServerOptions> = {},
  constraint: Partial<Constraint> = {},
): Service {
  const refusals: Decision[] = [];
  const server = createResourceServer({
    ...OPTIONS,
    onDecision: (decision) => {
      if (!decision.allowed) refusals.push(decision);
    },
    ...(dpop !== "none" && { senderConstraint: { dpop: { origins: [ORIGIN], ...dpop }, ...constraint } }),
    ...options,
  });
  return { server, takeRefusals: () => refusals.splice(0) };
}

const TOKEN_SOURCES: ResourceServerOptions["tokenSources"] = [
  { header: "authorization" },
  { cookie: "token" },
  { header: "cf-access-jwt-assertion", scheme: null },
  { header: "x-token", scheme: "Token" },
];

export const SERVICES: Readonly<Record<ServerName, Service>> = {
  plain: createService(),
  nonce: createService({ nonce: { secret: NONCE_SECRET } }),
  required: createService({}, {}, { required: true }),
  cookie: createService({}, { tokenSources: TOKEN_SOURCES }),
  "ES256 only": createService({ algorithms: ["ES256"] }),
};

const ROUTES = ["/agents", "/agents/:id", "/payments"].map((path): Route => ({
  method: "ALL",
  path,
  handle: () => ({ done: true }),
}));

/** The hosts that attacks are sent to. */
export const HOSTS = applications.filter(({ name }) => /^(?:Express 5|Fastify 5|Koa 3|Hono|Node)/.test(name));

/** Starts an application that answers every request that its guard allows with `{ done: true }`. */
export const openHost = ({ start }: Application, server: ResourceServer): Promise<Running> =>
  start({ server, routes: ROUTES });

export interface Received {
  readonly status: number;
  /** The values of each field, by its name in lower case. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
  /** Everything that was received. */
  readonly text: string;
}

/** Sends a request over a connection of its own. */
export async function sendTo(
  port: number,
  { method = "GET", target = TARGET, fields }: Sent,
): Promise<Received> {
  const hasHost = fields.some(([name]) => name.toLowerCase() === "host");
  const all = [
    ...(hasHost ? [] : [["Host", "api.example"] as const]),
    ["Connection", "close"] as const,
    ...(method === "GET" || method === "HEAD" ? [] : [["Content-Length", "0"] as const]),
    ...fields,
  ];
  return parse(await exchange(port, render(`${method} ${target} HTTP/1.1`, all)));
}

function parse(text: string): Received {
  const end = text.indexOf("\r\n\r\n");
  const [line = "", ...lines] = text.slice(0, end < 0 ? text.length : end).split("\r\n");
  const fields = new Map<string, string[]>();
  for (const field of lines) {
    const colon = field.indexOf(":");
    const name = field.slice(0, colon).toLowerCase();
    fields.set(name, [...(fields.get(name) ?? []), field.slice(colon + 1).trim()]);
  }
  const rest = end < 0 ? "" : text.slice(end + 4);
  const isChunked = fields.get("transfer-encoding")?.includes("chunked") ?? false;
  return {
    status: Number(line.split(" ")[1] ?? 0),
    fields,
    body: isChunked ? withoutChunks(rest) : rest,
    text,
  };
}

function withoutChunks(text: string): string {
  const line = text.indexOf("\r\n");
  const size = Number.parseInt(text.slice(0, line), 16);
  if (line < 0 || !(size > 0)) return "";
  return text.slice(line + 2, line + 2 + size) + withoutChunks(text.slice(line + 2 + size + 2));
}

/** The request as an adapter passes it to `check`: several fields of one name are an array. */
export function accessRequestOf({ method = "GET", target = TARGET, fields }: Sent): AccessRequest {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    const present = headers[key];
    headers[key] = present === undefined ? value : [present, value].flat();
  }
  const { authorization, cookie, ...others } = headers;
  return {
    method,
    target,
    headers: others,
    ...(authorization !== undefined && { authorization }),
    ...(typeof cookie === "string" && { cookie }),
  };
}

/** Decides a request without a host, with these properties on `Object.prototype`. */
export async function checkDirectly(
  server: ResourceServer,
  request: Sent,
  pollution: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly decision: Decision; readonly received: Received | undefined }> {
  const access = accessRequestOf(request);
  const decide = async () => {
    const decision = await server.check(access);
    if (decision.allowed) return { decision, received: undefined };
    const { status, headers, body } = server.refuse(decision);
    const fields = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]));
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return { decision, received: { status, fields, body: text, text: JSON.stringify(headers) + text } };
  };
  return withPollution(pollution, decide, { isEnumerable: false });
}

/** The rejection of the proof, or the reason of the refusal; `allowed` for an allowed request. */
export function outcomeOf(decision: Decision): string {
  if (decision.allowed) return "allowed";
  return decision.reason === "proof_rejected" ? String(decision.proofRejection) : decision.reason;
}
