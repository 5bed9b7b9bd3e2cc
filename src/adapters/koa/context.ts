/** How Koa passes a request to middleware, and how a refusal is written to its response. */
import { orUndefined } from "../../core/errors.ts";
import { originForm, pathOf } from "../../core/request.ts";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { renderBody } from "../../core/response/rendered-body.ts";
import { isPending, type Pending } from "../../core/runtime/pending.ts";
import type { NodeServerRequest } from "../shared/node-request.ts";

/** The part of Koa's context (2 and 3) that is read and written. */
export interface KoaContext {
  /** Node's own request. */
  readonly req: NodeServerRequest;
  /** Koa's request, to which body parsers add the body. */
  readonly request?: object;
  /** The application. */
  readonly app?: { readonly context: object };
  /** The method as it was sent, or as earlier middleware has set it. */
  readonly method: string;
  /** The path of the target; koa-mount has removed its prefix. */
  readonly path: string;
  /** The target as it was sent. */
  readonly originalUrl: string;
  /** The prefix that koa-mount removed last. It stays when a mounted application passes a request on. */
  readonly mountPath?: string;
  /** Set by middleware that makes @koa/router use another path. */
  readonly newRouterPath?: string;
  /** The router of @koa/router that handles the request. */
  readonly router?: unknown;
  /** The routes and middleware that @koa/router found for the path, for all methods. */
  readonly matched?: readonly (KoaLayer | readonly KoaLayer[])[];
  /** Set by @koa/router. */
  readonly params?: Readonly<Record<string, string>>;
  /** The status of the response. */
  status: number;
  /** The body of the response. */
  body: unknown;
  /** Sets header fields of the response. */
  set(headers: Record<string, string>): unknown;
  /** Adds a header field to those with the same name. */
  append(name: string, value: string): unknown;
}

/** The part of @koa/router that is read. */
export interface KoaRouter {
  /** `routerPath` replaces the path of the request for routing. */
  readonly opts: { readonly routerPath?: string | undefined };
  /** Its routes and middleware, in order. */
  readonly stack: readonly KoaLayer[];
}

/** A route of a router, or middleware, which has no methods. */
export interface KoaLayer {
  /** Its pattern, including prefixes, or a regular expression. */
  readonly path: string | RegExp;
  /** In upper case. */
  readonly methods: readonly string[];
  /** Its handlers. */
  stack: readonly unknown[];
  /** `end` is `false` if longer paths match too; with `pathAsRegExp`, the path is the source of a RegExp. */
  readonly opts?: { readonly end?: boolean | undefined; readonly pathAsRegExp?: boolean | undefined };
}

export const isRouter = (value: unknown): value is KoaRouter =>
  "opts" in (Object(value) as object) && Array.isArray((value as Partial<KoaRouter>).stack);

/** Middleware with only the types that it uses, for both major versions. Keeps the type of the state. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/** An empty target is refused. */
const UNREADABLE = { target: "", prefix: "" };

/** Reads the whole target, and the prefix that koa-mount removed. A path rewritten in a mount is refused. */
export function readTarget(context: KoaContext): typeof UNREADABLE {
  const { mountPath, newRouterPath } = context;
  const { url = "" } = context.req;
  if (mountPath === undefined && newRouterPath === undefined && url.startsWith("/"))
    return { target: url, prefix: "" };
  // Koa's parser throws for some authorities, and its routers would then respond with 500.
  const path = orUndefined(() => context.path);
  if (path === undefined) return UNREADABLE;
  if (newRouterPath !== undefined)
    return mountPath === undefined ? { target: newRouterPath, prefix: "" } : UNREADABLE;
  if (mountPath === undefined) return { target: url, prefix: "" };
  const { originalUrl } = context;
  const whole = pathOf(originForm(originalUrl) ?? "");
  if (path === whole) return { target: url, prefix: "" };
  const prefix = prefixOf(whole, path);
  if (prefix === undefined) return UNREADABLE;
  // `mountPath` stays set if a mounted application passes a request on; the path then still has the mount.
  const mount = mountPath.replace(/\/$/, "");
  const isMount = prefix.endsWith(mount) || `${path}/`.startsWith(`${mount}/`);
  return isMount ? { target: originalUrl, prefix } : UNREADABLE;
}

function prefixOf(whole: string, path: string): string | undefined {
  if (path === "/" && !whole.endsWith("/")) return whole;
  const prefix = whole.slice(0, whole.length - path.length);
  if (!whole.endsWith(path) || !(path.startsWith("/") || prefix.endsWith("/"))) return undefined;
  return prefix.replace(/\/$/, "");
}

/** Calls `next` for an allowed request, or writes its refusal. */
export function proceed(
  context: KoaContext,
  refusal: Pending<HttpResponse | undefined>,
  next: () => unknown,
): unknown {
  if (!refusal) return next();
  if (isPending(refusal)) return refusal.then((awaited) => proceed(context, awaited, next));
  sendResponse(context, refusal);
  return undefined;
}

/** Writes a response of the core to Koa's. */
export function sendResponse(context: KoaContext, response: HttpResponse): void {
  context.status = response.status;
  const { [CHALLENGE_FIELD]: challenge, ...headers } = response.headers;
  context.set(headers);
  if (challenge !== undefined) context.append(CHALLENGE_FIELD, challenge);
  // As a string, because Koa would set the type application/json for an object.
  context.body = renderBody(response.body);
}
