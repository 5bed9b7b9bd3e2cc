/** Whether a header other than the credential changes what the guard decides. */
import { type Configuration, type Guard } from "./configuration.ts";
import { Application, type Observed } from "./harness.ts";
import { type Scopes } from "./oracle.ts";

type Header = readonly [name: string, value: string];

const PATH_HEADERS = [
  "x-original-url",
  "x-rewrite-url",
  "x-original-uri",
  "x-forwarded-uri",
  "x-forwarded-path",
];
const METHOD_HEADERS = ["x-http-method-override", "x-http-method", "x-method-override", "x-forwarded-method"];

export const HEADERS: readonly Header[] = [
  ...PATH_HEADERS.flatMap((name): Header[] => [
    [name, "/health"],
    [name, "/agents/api"],
  ]),
  ...METHOD_HEADERS.flatMap((name): Header[] => [
    [name, "HEAD"],
    [name, "POST"],
    [name, "OPTIONS"],
  ]),
  ["x-forwarded-prefix", "/health"],
  ["x-forwarded-host", "other.example"],
  ["x-forwarded-proto", "https"],
  ["x-forwarded-for", "127.0.0.1"],
  ["x-forwarded-user", "admin"],
  ["x-real-ip", "127.0.0.1"],
  ["forwarded", "for=127.0.0.1;host=other.example;proto=https"],
  ["host", "other.example"],
  ["host", "service.example/health?"],
  ["host", ""],
  ["x-scopes", "platform:admin"],
  ["x-user-scopes", "platform:admin"],
  ["x-authorization", "Bearer x"],
  ["proxy-authorization", "Bearer x"],
  ["cookie", "access_token=x"],
  ["referer", "http://service.example/health"],
  ["origin", "http://service.example"],
  ["access-control-request-method", "GET"],
  ["accept", "text/html"],
  ["connection", "authorization"],
  ["via", "1.1 other.example"],
  ["x-requested-with", "XMLHttpRequest"],
  ["purpose", "prefetch"],
];

const TARGETS = [
  { method: "GET", path: "/agents/web" },
  { method: "POST", path: "/agents/web" },
  { method: "OPTIONS", path: "/anything/web" },
  { method: "GET", path: "/inbox" },
  { method: "GET", path: "/internal" },
];

const CALLERS: readonly Scopes[] = [
  undefined,
  ["agents:web:update", "agents:api:read", "anything:read", "inbox:write"],
  ["agents:web:read", "anything:write"],
];

/** Requests that are answered in another way because of a header, as text. */
export async function headersThatDecide(
  configuration: Configuration,
  guard: Guard,
): Promise<readonly string[]> {
  const application = await Application.start(configuration, guard);
  const found: string[] = [];
  try {
    for (const target of TARGETS) {
      for (const scopes of CALLERS) {
        const plain = outcomeOf(await application.ask(0, { ...target, target: target.path }, scopes));
        for (const header of HEADERS) {
          const request = { ...target, target: target.path, headers: [header] };
          const outcome = outcomeOf(await application.ask(0, request, scopes));
          if (outcome !== plain)
            found.push(`${target.method} ${target.path} with ${header.join(": ")}: ${outcome}, not ${plain}`);
        }
      }
    }
  } finally {
    await application.close();
  }
  return found;
}

const outcomeOf = ({ status, ran }: Observed): string =>
  `${status} ${ran.map(({ handler, params }) => `${handler} ${JSON.stringify(params)}`).join()}`;
