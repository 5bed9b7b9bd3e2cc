/** Answers events of API Gateway and of function URLs, converted to a `Request`. */
import { createResourceServer, type Principal } from "scopegate";
import { protect } from "scopegate/fetch";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /stores/:store_id": ["stores:<store_id>:read"], "POST /orders": ["orders:write"] },
});

const guard = protect(server);

async function answer(request: Request, principal?: Principal): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const body = request.method === "POST" ? await request.text() : searchParams.get("full");
  const headers = { "Content-Type": "application/json", "Set-Cookie": "seen=1" };
  return new Response(JSON.stringify({ pathname, caller: principal?.userId, body }), { headers });
}

/** The part of an event of payload format 2.0 that is read. */
interface Event {
  readonly routeKey: string;
  readonly pathParameters?: Readonly<Record<string, string | undefined>>;
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly cookies?: readonly string[];
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: { readonly http: { readonly method: string } };
  readonly body?: string;
  readonly isBase64Encoded: boolean;
}

function toRequest({
  rawPath,
  rawQueryString,
  cookies = [],
  headers,
  requestContext,
  ...event
}: Event): Request {
  const { method } = requestContext.http;
  const fields = new Headers();
  // API Gateway joins repeated headers with a comma, and moves cookies out of the headers.
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) fields.set(name, value);
  if (cookies.length > 0) fields.set("Cookie", cookies.join("; "));
  const query = rawQueryString === "" ? "" : `?${rawQueryString}`;
  const encoding = event.isBase64Encoded ? "base64" : "utf8";
  const hasBody = event.body !== undefined && method !== "GET" && method !== "HEAD";
  return new Request(`https://lambda.internal${rawPath}${query}`, {
    method,
    headers: fields,
    ...(hasBody && { body: Buffer.from(event.body ?? "", encoding) }),
  });
}

async function toResult(response: Response) {
  const { "set-cookie": _, ...headers } = Object.fromEntries(response.headers);
  const body = Buffer.from(await response.arrayBuffer()).toString("base64");
  const cookies = response.headers.getSetCookie();
  return { statusCode: response.status, headers, cookies, body, isBase64Encoded: true };
}

export async function handler(event: Event) {
  const { routeKey: route, pathParameters: params } = event;
  const request = toRequest(event);
  const access = await guard(request, route === "$default" ? undefined : { route, params });
  return toResult("decision" in access ? await answer(request, access.principal) : access);
}
