/** How Hono passes a request to middleware, and how a refusal becomes its response. */
import { orUndefined } from "../../core/errors.ts";
import { pathOf } from "../../core/request.ts";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { renderBody } from "../../core/response/rendered-body.ts";
import { isPending, type Pending } from "../../core/runtime/pending.ts";
import { targetOf, type WebRequest } from "../shared/web-request.ts";
import { encodeText } from "./pattern.ts";

/** The part of Hono's context (4) that is read and written. */
export interface HonoContext {
  /** The request, which earlier middleware may have replaced, and the path that Hono found routes for. */
  readonly req: { readonly raw: WebRequest; readonly path: string };
  /** What the runtime's adapter passes on: the one for Node.js has Node's request as `incoming`. */
  readonly env?: unknown;
  /** Whether the response is set. */
  readonly finalized: boolean;
  /** The response. */
  res: Response;
  /** Sets a header field of the response, or adds one. */
  header(name: string, value: string, options?: { readonly append?: boolean }): unknown;
  /** Creates a response with the header fields that were set. */
  body(text: string, status: number): Response;
}

/** Middleware with only the types that it uses. Keeps the types of the context and of route parameters. */
export type HonoMiddleware = (context: HonoContext, next: Next) => Promise<Response | undefined>;
export type Next = () => Promise<void>;

/** Reads the target as it was sent; or the path that the application's own `getPath` returned. */
export function readTarget({ req: { path, raw } }: HonoContext): string {
  const target = targetOf(raw.url);
  const text = pathOf(target);
  const isPath = (read?: string) => read === path || read === `${path}/`;
  // Hono cuts off a fragment, but the core must refuse a target that has one.
  if (isPath(text) || target.includes("#")) return target;
  if (isPath(orUndefined(() => decodeURI(text.replaceAll("%25", "%2525"))))) return target;
  return encodeText(path).replaceAll("?", "%3F") + target.slice(text.length);
}

/** Calls `next` for an allowed request, or returns the response to a refused one. */
export function proceed(
  context: HonoContext,
  refusal: Pending<HttpResponse | undefined>,
  next: () => unknown,
): unknown {
  if (!refusal) return next();
  if (isPending(refusal)) return refusal.then((awaited) => proceed(context, awaited, next));
  return sendResponse(context, refusal);
}

/** Converts a response of the core to Hono's. */
export function sendResponse(context: HonoContext, { status, headers, body }: HttpResponse): unknown {
  for (const [name, value] of Object.entries(headers))
    context.header(name, value, { append: name === CHALLENGE_FIELD });
  const response = context.body(renderBody(body), status);
  // Hono ignores a returned response if an earlier middleware has set one.
  if (context.finalized) context.res = response;
  return response;
}
