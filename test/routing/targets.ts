/** The requests, before their spelling is changed. */
import { METHODS } from "node:http";

/** A method, and a path in its plain spelling, without the prefix of the configuration. */
export interface Target {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly (readonly [string, string])[];
  /** Why the target is not canonical. Absent if it is. */
  readonly special?: string;
}

const WIDE = "route wider than every rule";

const get = (path: string): Target => ({ method: "GET", path });

/** Requests of these paths. */
export const targets = (...paths: readonly string[]): Target[] => paths.map(get);

/** Requests of these paths, which are not canonical for the same reason. */
export const specialTargets = (special: string, ...paths: readonly string[]): Target[] =>
  targets(...paths).map((target) => ({ ...target, special }));

/** A request whose method another one replaces. */
export const overridden = (method: string, to: string, path: string): Target => ({
  method,
  path,
  headers: [["x-http-method-override", to]],
  special: "method overridden",
});

export const REWRITTEN_AFTER = "URL rewritten after the guard";

/** For applications that remove `/alias` from the URL after the guard. */
export const ALIASES: readonly Target[] = [
  ...specialTargets(
    REWRITTEN_AFTER,
    "/alias/agents/web",
    "/alias/agents/me",
    "/alias/internal",
    "/alias/files/private/a",
  ),
  ...targets("/agents/web", "/health"),
];

/** For applications that remove `/v2` from the URL before the guard. */
export const VERSIONED = targets("/v2/agents/web", "/v2/agents/me", "/v2/health", "/agents/web");

/** For a router below a parameter, and one below a static path that the parameter matches. */
export const CREWS = targets("/crews/me/card", "/crews/web/card", "/crews/web/runs", "/crews/me/runs");
export const CREWS_AND_TASK = [...CREWS, ...targets("/crews/web/tasks/7")];

/** For routes that call the next one, which is narrower or wider. */
export const STEPS = targets("/steps/open", "/steps/web", "/steps/final");

/** Targets of the standard routes. */
export const STANDARD_TARGETS: readonly Target[] = [
  // The first request of an application, before the guard has seen its routers. Its path is public, but
  // Express and Koa run a wider route for it that is not.
  get("/pages/index"),
  get("/health"),
  get("/agents/me"),
  get("/agents/web"),
  get("/files/public/a"),
  get("/files/private/a"),
  get("/tools/kit"),
  get("/tree/leaf/a"),
  get("/internal/web"),
  get("/anything/web"),
  get("/"),
  get("/agents"),
  get("/whoami"),
  get("/me"),
  get("/pages/web"),
  get("/tools/web"),
  get("/files/a/b"),
  get("/tree/a"),
  get("/inbox"),
  get("/probe"),
  get("/spans/a-b"),
  get("/Reports/web"),
  get("/optional/web"),
  get("/internal"),
  { method: "POST", path: "/agents/web/runs" },
  { method: "POST", path: "/agents/web" },
  { method: "DELETE", path: "/agents/web" },
  { method: "HEAD", path: "/agents/me" },
  { method: "HEAD", path: "/probe" },
  { method: "HEAD", path: "/inbox" },
  { method: "OPTIONS", path: "/anything/web" },
  { method: "POST", path: "/inbox" },
  { ...get("/wide/one"), special: WIDE },
  { ...get("/wide/two"), special: WIDE },
  { ...get("/wide/three"), special: WIDE },
  { ...get("/optional"), special: "optional parameter left out" },
  { ...get("/nothing"), special: "no route" },
];

/** Some targets with every method that Node.js accepts, and with methods that it does not. */
export const METHOD_SWEEP: readonly Target[] = [
  "/anything/web",
  "/inbox",
  "/probe",
  "/agents/me",
  "/health",
  "/internal",
].flatMap((path) =>
  [...METHODS, "FOO", "get", "Get", "GETS", "__proto__", "constructor"].map((method) => ({
    method,
    path,
    special: "method",
  })),
);
