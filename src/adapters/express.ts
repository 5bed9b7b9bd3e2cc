import { type Principal } from "../principal.ts";
import { type AccessRequest, originForm, pathOf, type PathReading } from "../request.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type Refusal } from "../response/refusal.ts";
import {
  assertOptions,
  assertResourceServer,
  createScopeCheck,
  findPrincipal,
  guard,
  type NodeRequest,
} from "./guard.ts";

/**
 * The part of Express's request (4 and 5) that is read. `params` is left out: a middleware that names its type would take
 * the place of the type that a route infers from its path.
 */
export interface ExpressRequest extends NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl: string;
  readonly baseUrl: string;
  readonly app?: { enabled(setting: string): boolean };
}

/** The part of Express's response that a refusal is written to. */
export interface ExpressResponse {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** A middleware, typed by what it uses: it fits both majors and leaves the types of a route's parameters alone. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ExpressResponse,
  next: (error?: unknown) => void,
) => void;

/** How the routers of the application read a path; say it where they are stricter than Express is by default. */
export interface ProtectOptions {
  /** `/Agents` is another route than `/agents`. Default: not so, unless the application has `case sensitive routing`. */
  readonly caseSensitive?: boolean;
  /** `/agents/` is another route than `/agents`. Default: not so, unless the application has `strict routing`. */
  readonly strict?: boolean;
}

/**
 * Protects everything behind it: `app.use(protect(server))` before the routes, or on a mounted router, whose rules are
 * written with the whole path. Refusals are answered; a fault goes to `next(error)`.
 *
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/express";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = express();
 * app.use(protect(server));
 * app.get("/agents/:agent_id", (req, res) => res.json({ caller: principalOf(req)?.userId }));
 * ```
 */
export function protect(server: ResourceServer, options: ProtectOptions = {}): ExpressMiddleware {
  assertResourceServer(server);
  assertOptions(options, ["caseSensitive", "strict"]);
  return (request, response, next) => {
    guard(server, request, {
      method: request.method,
      target: readTarget(request),
      reading: readReading(request, options),
    })
      .then((refusal) => (refusal ? send(response, refusal) : next()))
      // Express 4 does not look at promises: what is not handed over would end the process.
      .catch(next);
  };
}

/**
 * Asks one route for scopes on top of its rule; `<name>` stands for a parameter of the route. Needs `protect` in front.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function requireScopes(...scopes: readonly string[]): ExpressMiddleware {
  const check = createScopeCheck(scopes);
  return (request, response, next) => {
    const refusal = check(request, (request as Pick<AccessRequest, "params">).params);
    if (refusal) send(response, refusal);
    else next();
  };
}

/** The caller of a protected request; `undefined` on public routes, and on optional ones without a token. */
export function principalOf(request: object): Principal | undefined {
  return findPrincipal(request);
}

/**
 * The whole path as the routers see it: a mounted router strips its prefix from `url`, and a middleware in front may
 * have rewritten it, which `originalUrl` does not show.
 */
function readTarget({ baseUrl, url, originalUrl }: ExpressRequest): string {
  if (baseUrl === "") return url;
  const rest = originForm(url);
  if (rest === undefined) return url;
  // Express adds the slash to a mount path that was requested without one.
  const isMountPath = pathOf(rest) === "/" && pathOf(originForm(originalUrl) ?? "") === baseUrl;
  return baseUrl + (isMountPath ? rest.slice(1) : rest);
}

/**
 * Lenient, as Express is. The settings of an application do not reach its routers: where one is strict, nothing is known of
 * the others unless the options say it.
 */
function readReading({ app }: ExpressRequest, { caseSensitive, strict }: ProtectOptions): PathReading {
  const isLenient = (setting: string): true | undefined => (app?.enabled(setting) ? undefined : true);
  return {
    ignoreCase: caseSensitive === undefined ? isLenient("case sensitive routing") : !caseSensitive,
    ignoreTrailingSlash: strict === undefined ? isLenient("strict routing") : !strict,
  };
}

/** Where somebody has answered already, a timeout for one, there is nothing left to say. */
function send(response: ExpressResponse, { status, headers, body }: Refusal): void {
  if (response.headersSent) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(JSON.stringify(body));
}
