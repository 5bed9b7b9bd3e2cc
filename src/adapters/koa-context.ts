/** How Koa shows a request to a middleware, and how a refusal is written to its response. */
import { attempt } from "../errors.ts";
import { originForm, pathOf } from "../request.ts";
import { type Refusal } from "../response/refusal.ts";
import { type NodeRequest } from "./guard.ts";

/** The part of Koa's context (2 and 3) that is read and written. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly originalUrl: string;
  /** Set by koa-mount. */
  readonly mountPath?: string;
  /** Set by a middleware that has @koa/router route by another path. */
  readonly newRouterPath?: string;
  /** The router of @koa/router that runs. */
  readonly router?: unknown;
  /** What @koa/router has found for the path, whatever the method. */
  readonly matched?: readonly KoaLayer[];
  /** The path of the route that @koa/router runs. */
  readonly routerPath?: string | RegExp | undefined;
  /** Set by @koa/router. */
  readonly params?: Readonly<Record<string, string>>;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): unknown;
}

/** The part of @koa/router that is read. */
export interface KoaRouter {
  readonly opts: {
    readonly sensitive?: boolean | undefined;
    readonly strict?: boolean | undefined;
    /** A path that is routed by in place of the request's. */
    readonly routerPath?: string | undefined;
  };
  readonly stack: readonly KoaLayer[];
}

/** A route of a router; a middleware of it has no methods. */
export interface KoaLayer {
  readonly path: string | RegExp;
  readonly methods: readonly string[];
  readonly stack: readonly unknown[];
  readonly regexp?: RegExp;
}

export const isRouter = (value: unknown): value is KoaRouter =>
  (typeof value === "object" || typeof value === "function") &&
  value !== null &&
  "opts" in value &&
  "stack" in value &&
  Array.isArray(value.stack);

/** A middleware, typed by what it uses: it fits both majors and leaves the types of the state alone. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * The whole path as the routers see it. koa-mount strips its prefix from `path` and keeps `originalUrl`; where the two do
 * not fit, a middleware rewrote the URL on the way. That, and a URL that Koa itself cannot read, is an empty target,
 * which is refused.
 */
export function readTarget(context: KoaContext): string {
  const { mountPath, newRouterPath, originalUrl, url } = context;
  // Koa's parser throws for some authorities; its routers would answer 500.
  const path = attempt(() => context.path);
  if (path === undefined) return "";
  if (newRouterPath !== undefined) return mountPath === undefined ? newRouterPath : "";
  if (mountPath === undefined) return url;
  const whole = pathOf(originForm(originalUrl) ?? "");
  // koa-mount leaves its mark behind when it lets a request pass on: then nothing is stripped.
  if (path === whole) return url;
  const prefix = mountPath.replace(/\/$/, "");
  const isMounted = whole.endsWith(path.startsWith("/") ? prefix + path : `${prefix}/${path}`);
  return isMounted || (path === "/" && whole.endsWith(prefix)) ? originalUrl : "";
}

export function send(context: KoaContext, { status, headers, body }: Refusal): void {
  context.status = status;
  context.set({ ...headers });
  // As text: Koa gives an object the type application/json.
  context.body = JSON.stringify(body);
}
