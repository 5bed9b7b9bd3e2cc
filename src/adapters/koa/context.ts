/** How Koa shows a request to a middleware, and how a refusal is written to its response. */
import { attempt } from "../../errors.ts";
import { originForm, pathOf } from "../../request.ts";
import { type Refusal } from "../../response/refusal.ts";
import { renderBody } from "../../response/rendered-body.ts";
import { type NodeRequest } from "../node-request.ts";

/** The part of Koa's context (2 and 3) that is read and written. */
export interface KoaContext {
  /** Node's own request. */
  readonly req: NodeRequest;
  /** Koa's request, to which body parsers add what they have read. */
  readonly request?: object;
  /** As it was sent, or as a middleware in front has set it. */
  readonly method: string;
  /** The target. */
  readonly url: string;
  /** The path of the target; koa-mount has cut its prefix off. */
  readonly path: string;
  /** The target as it was sent. */
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
  /** The status of the response. */
  status: number;
  /** The body of the response. */
  body: unknown;
  /** Sets header fields of the response. */
  set(headers: Record<string, string>): unknown;
}

/** The part of @koa/router that is read. */
export interface KoaRouter {
  /** What the router was made with. */
  readonly opts: {
    /** Whether letter case counts. */
    readonly sensitive?: boolean | undefined;
    /** Whether a trailing slash counts. */
    readonly strict?: boolean | undefined;
    /** A path that is routed by in place of the request's. */
    readonly routerPath?: string | undefined;
  };
  /** Its routes and middleware, in order. */
  readonly stack: readonly KoaLayer[];
}

/** A route of a router; a middleware of it has no methods. */
export interface KoaLayer {
  /** Its pattern, prefixes included, or an expression. */
  readonly path: string | RegExp;
  /** In upper case. */
  readonly methods: readonly string[];
  /** Its handlers. */
  readonly stack: readonly unknown[];
  /** What the path was compiled to. */
  readonly regexp?: RegExp;
  /** What the path was compiled with. */
  readonly opts?: {
    /** `false` where it is only the beginning of what is matched. */
    readonly end?: boolean | undefined;
    /** `true` where it is the text of an expression. */
    readonly pathAsRegExp?: boolean | undefined;
  };
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
  context.body = renderBody(body);
}
