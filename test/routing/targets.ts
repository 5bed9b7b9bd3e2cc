/** The requests, before they are spelled in other ways. */
import { METHODS } from "node:http";

/** A method and the plain spelling of a path below the prefix of the configuration. */
export interface Target {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly (readonly [string, string])[];
  /** Why it is not canonical, where it is not the exact spelling of a route with plain ids. */
  readonly special?: string;
}

const WIDE = "route wider than every rule";

const get = (path: string): Target => ({ method: "GET", path });

/** Of the routes that every framework has. */
export const STANDARD_TARGETS: readonly Target[] = [
  // The first request of an application, whose routers the guard has not seen yet: public by its path, and no more.
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

/** Every method that Node.js receives, and some that it does not, on some of the targets. */
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
