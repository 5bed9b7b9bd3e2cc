/** Requests in memory. */
import { createMcpResourceServer, tokenOf } from "./tools.ts";

export const server = createMcpResourceServer();
export const URL_OF = "https://api.example/mcp";

/** A request of the runner. */
export async function post(
  body: string | ReadableStream | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<Request> {
  const authorization = `Bearer ${await tokenOf("runner")}`;
  return new Request(URL_OF, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: "half" as const }),
  });
}
