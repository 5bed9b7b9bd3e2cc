/** How Express passes a request to middleware. */
import { originForm, pathOf } from "../../core/request.ts";
import type { NodeRequest } from "../shared/node-request.ts";
import type { NodeResponse } from "../shared/node-response.ts";

/**
 * The part of Express's request (4 and 5) that is read. `params` is left out: middleware that declares its
 * type would replace the type that a route infers from its path.
 */
export interface ExpressRequest extends NodeRequest {
  /** The method as it was sent, or as earlier middleware has set it. */
  readonly method: string;
  /** The target; a mounted router has removed its prefix. */
  readonly url: string;
  /** The target as it was sent. */
  readonly originalUrl: string;
  /** The removed prefix. */
  readonly baseUrl?: string;
  /** The body that an earlier body parser has read. */
  readonly body?: unknown;
  /** The application that handles the request. */
  readonly app?: object;
}

/** The part of Express's response that a refusal is written to. */
export type ExpressResponse = NodeResponse;

/** Middleware with only the types that it uses, for both versions. Keeps the types of route parameters. */
export type ExpressMiddleware = (request: ExpressRequest, response: ExpressResponse, next: Next) => void;

type Next = (error?: unknown) => void;

/** Reads the method in the letter case in which Express compares it. */
export const readMethod = (request: ExpressRequest): string => request.method.toUpperCase();

/** Reads the whole path as the routers see it: with the mount prefix, and as middleware has rewritten it. */
export function readTarget(request: ExpressRequest): string {
  const { url, baseUrl, originalUrl } = request as { url: string; baseUrl?: string; originalUrl?: string };
  const target = joinTarget(baseUrl, url, originalUrl);
  if (target === originalUrl || originalUrl === undefined || request.app) return target;
  // Other frameworks remove the path of a mount and don't store it, so the rules of another path would apply.
  const [path, original] = [pathOf(target), pathOf(originalUrl)];
  if (path === original || !(path === "/" || original.endsWith(path))) return target;
  throw new TypeError(
    "protect needs the path that it is mounted at, but connect, polka or @fastify/middie has removed it: mount protect, and Express routers, without a path.",
  );
}

function joinTarget(baseUrl: string | undefined, url: string, originalUrl = ""): string {
  const rest = baseUrl ? originForm(url) : undefined;
  if (!baseUrl || rest === undefined) return url;
  // Express adds the slash to a mount path that was requested without one.
  const isMountPath = pathOf(rest) === "/" && pathOf(originForm(originalUrl) ?? "") === baseUrl;
  return baseUrl + (isMountPath ? rest.slice(1) : rest);
}
