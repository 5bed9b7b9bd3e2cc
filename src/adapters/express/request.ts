/** How Express shows a request to a middleware. */
import { originForm, pathOf } from "../../request.ts";
import { type NodeRequest, readMember } from "../node-request.ts";
import { type NodeResponse } from "../node-response.ts";

/**
 * The part of Express's request (4 and 5) that is read. `params` is left out: a middleware that names its type would take
 * the place of the type that a route infers from its path.
 */
export interface ExpressRequest extends NodeRequest {
  /** As it was sent, or as a middleware in front has set it. */
  readonly method: string;
  /** The target; a mounted router has cut its prefix off. */
  readonly url: string;
  /** The target as it was sent. */
  readonly originalUrl: string;
  /** The mount; @fastify/middie knows none. */
  readonly baseUrl?: string;
  /** What a body parser in front has read. */
  readonly body?: unknown;
  /** The application, whose settings are read. */
  readonly app?: { enabled(setting: string): boolean };
}

/** The part of Express's response that a refusal is written to. */
export type ExpressResponse = NodeResponse;

/** A middleware, typed by what it uses: it fits both majors and leaves the types of a route's parameters alone. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ExpressResponse,
  next: (error?: unknown) => void,
) => void;

/** The method in the letter case in which Express compares it. */
export const readMethod = (request: ExpressRequest): string => readMember(request, "method").toUpperCase();

/**
 * The whole path as the routers see it: a mounted router strips its prefix from `url`, and a middleware in front may
 * have rewritten it, which `originalUrl` does not show.
 */
export function readTarget(request: ExpressRequest): string {
  const url = readMember(request, "url");
  const baseUrl = readMember(request, "baseUrl");
  if (!baseUrl) return url;
  const rest = originForm(url);
  if (rest === undefined) return url;
  // Express adds the slash to a mount path that was requested without one.
  const isMountPath = pathOf(rest) === "/" && pathOf(originForm(request.originalUrl) ?? "") === baseUrl;
  return baseUrl + (isMountPath ? rest.slice(1) : rest);
}
