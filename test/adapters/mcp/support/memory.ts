/** Requests in memory. */
import { createMcpResourceServer, RESOURCE, tokenOf } from "./tools.ts";

export const server = createMcpResourceServer();

/** A request with a message, or with the body as it is. */
export function requestOf(
  body?: object | string | null,
  token?: string,
  headers: Readonly<Record<string, string>> = {},
  method = "POST",
): Request {
  const isStream = body instanceof ReadableStream;
  return new Request(RESOURCE, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: isStream || typeof body !== "object" || body === null ? (body ?? null) : JSON.stringify(body),
    ...(isStream && { duplex: "half" as const }),
  });
}

/** A request of the runner. */
export const post = async (
  body: object | string | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<Request> => requestOf(body, await tokenOf("runner"), headers);
