/** Answers a proxy that asks about each request: nginx `auth_request`, Caddy `forward_auth`, Envoy `ext_authz`. */
import { createServer, type IncomingMessage } from "node:http";
import { createResourceServer } from "scopegate";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /orders": ["orders:read"],
    "GET /stores/:store_id/orders": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

interface Sent {
  readonly method?: string | undefined;
  readonly target?: string | undefined;
}

const fromFields =
  (methodField: string, targetField: string) =>
  ({ headersDistinct }: IncomingMessage): Sent => ({
    method: headersDistinct[methodField]?.join(),
    target: headersDistinct[targetField]?.join(),
  });

/** Where each proxy writes what the client sent. The fields of another proxy may come from the client. */
const PROXIES: Readonly<Record<string, (request: IncomingMessage) => Sent>> = {
  nginx: fromFields("x-original-method", "x-original-uri"),
  caddy: fromFields("x-forwarded-method", "x-forwarded-uri"),
  envoy: ({ method, url }) => ({ method, target: url }),
};
const { PROXY = "", PORT = "9000" } = process.env;
const readSent = PROXIES[PROXY];
if (!readSent) throw new Error(`Set PROXY to ${Object.keys(PROXIES).join(", ")}.`);

/** nginx responds with 500 to its client for other refusals than 401 and 403. */
const statusFor = (status: number): number =>
  PROXY === "nginx" && status < 500 && status !== 401 ? 403 : status;

createServer((request, response) => {
  void answer(request)
    .catch(() => ({ status: 500, headers: {}, body: "" }))
    .then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
}).listen(Number(PORT), "127.0.0.1"); // only programs on this host can connect

async function answer(request: IncomingMessage) {
  const { method = "", target = "" } = readSent!(request);
  const { authorization } = request.headersDistinct;
  const decision = await server.check({ method, target, authorization });
  if (!decision.allowed) {
    const { status, headers, body } = server.refuse(decision);
    return { status: statusFor(status), headers, body: JSON.stringify(body) };
  }
  const user = encodeURIComponent(decision.principal?.userId ?? "");
  return { status: 200, headers: { "X-User": user }, body: "" };
}
