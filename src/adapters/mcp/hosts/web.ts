/** The hosts of the Fetch standard, and Hono. */
import { readWebBody, withBody } from "../../shared/body.ts";
import { GrantedAccess, isAccess } from "../../fetch/access.ts";
import { type Access, protect as protectFetch } from "../../fetch/index.ts";
import { shareVerdicts } from "../../shared/guard.ts";
import { proceed } from "../../hono/context.ts";
import { type HonoContext, protect as protectHono } from "../../hono/index.ts";
import { toResponse } from "../../shared/web-request.ts";
import { type ResourceServer } from "../../../core/server.ts";
import { type AuthInfo } from "../caller.ts";
import { type Exchange, type Gate, isPassed, type Passed } from "../gate.ts";
import { SESSION_FIELD } from "../sessions.ts";

/** An allowed request. Pass `{ authInfo, parsedBody }` to the handler of the official SDK. */
export interface McpAccess extends Access {
  /** The caller, in the form of the official SDK; absent if no token was read. */
  readonly authInfo?: AuthInfo;
  /** The parsed body; `request.body` is already read. `undefined` for a request without a body. */
  readonly parsedBody: object | undefined;
  /** Pass the response of the handler through it: it remembers who started a session, and filters lists. */
  readonly respond: (response: Response) => Promise<Response>;
}

/** `parsed` is the body, if an earlier parser has parsed it. */
const webExchange = (raw: object, request: Request, parsed?: unknown): Exchange => ({
  raw,
  method: request.method,
  header: (name) => request.headers.get(name) ?? undefined,
  body: (limits) => (request.bodyUsed ? { parsed } : readWebBody(request, limits)),
  async isEmpty(limits) {
    if (request.bodyUsed) return parsed === undefined;
    if (["GET", "HEAD"].includes(request.method)) return true;
    return typeof (await readWebBody(request, { ...limits, maxBodyBytes: 0 })) !== "string";
  },
});

/** Remembers the session that a response starts, and filters its lists. */
async function finish(response: Response, { respond, filter }: Passed): Promise<Response> {
  const { status, headers } = response;
  respond?.(status, headers.get(SESSION_FIELD) ?? undefined);
  if (!filter || response.body === null) return response;
  const edited = new Response(filter(await response.text()), { status, headers });
  edited.headers.delete("content-length");
  return edited;
}

/** Creates a guard for requests of the Fetch standard. */
export function createFetchGate(server: ResourceServer, gate: Gate) {
  const guard = protectFetch(server);
  return async (request: Request): Promise<McpAccess | Response> => {
    const access = await guard(request);
    if (!isAccess(access)) return access;
    const outcome = await gate(webExchange(request, request));
    if (!isPassed(outcome)) return toResponse(outcome);
    const { verdict, authInfo, body: parsedBody } = outcome;
    const respond = (response: Response) => finish(response, outcome);
    return Object.assign(new GrantedAccess(verdict), { ...(authInfo && { authInfo }), parsedBody, respond });
  };
}

type Context = Omit<HonoContext, "req" | "res"> & {
  readonly req: Omit<HonoContext["req"], "raw"> & { raw: Request };
  get res(): Response;
  set res(response: Response | undefined);
  get(name: string): unknown;
  set(name: string, value: unknown): void;
};

/** Creates a middleware of Hono: the body is `c.get("parsedBody")`, and the caller `c.get("auth")`. */
export function createHonoGate(server: ResourceServer, gate: Gate) {
  const guard = protectHono(server);
  return (context: Context, next: () => Promise<void>) =>
    guard(context, async () => {
      const { req } = context;
      const outcome = await gate(webExchange(context, req.raw, context.get("parsedBody")));
      if (!isPassed(outcome)) return void (context.res = proceed(context, outcome, next) as Response);
      const { authInfo, body, bytes } = outcome;
      context.set("auth", authInfo);
      context.set("parsedBody", body);
      if (bytes) {
        // Later code that does not use `parsedBody` can still read the body.
        req.raw = withBody(req.raw, bytes);
        shareVerdicts(context, req.raw);
      }
      await next();
      const finished = await finish(context.res, outcome);
      if (finished === context.res) return;
      // Hono adds the headers of the response that is replaced.
      context.res = undefined;
      context.res = finished;
    });
}
