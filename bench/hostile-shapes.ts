/**
 * Requests without a token, of 1 to 8 kB, that aim at one part of the look-up each: the names of a batch, the readings of a
 * path, rules with text beside a parameter, and everything else in a request that a client chooses.
 */
import type { AccessRequest, ResourceServer, ScopeMappings } from "scopegate";
import type * as scopegateConditions from "scopegate/conditions";
import { importEntry } from "./built.ts";
import { createServerWith, realistic } from "./hostile-requests.ts";

const { callerConditions } = await importEntry<typeof scopegateConditions>("conditions");

/** One kind of request, for a length in bytes. */
export interface Shape {
  readonly name: string;
  readonly server: ResourceServer;
  readonly request: (bytes: number) => AccessRequest;
}

const count = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

/** A table with this many rules that mix text and parameters at the same place. */
const mixed = (rules: number, key: (index: number) => string): ResourceServer =>
  createServerWith(Object.fromEntries(count(rules).map((index) => [`GET ${key(index)}`, ["a:read"]])));
const suffixes = mixed(200, (index) => `/files/:id.type${index}`);
const nested = mixed(200, (index) => `/nested/:id${".a".repeat(index + 1)}`);

/** Each of eight segments is text in one half of the rules and a parameter in the other: 256 rules. */
const binary = createServerWith(
  Object.fromEntries(
    count(256).map((index): [string, ScopeMappings["GET /"]] => {
      const segments = count(8).map((bit) => ((index >> bit) & 1 ? `:p${bit}` : `s${bit}`));
      return [`GET /${segments.join("/")}`, ["a:read"]];
    }),
  ),
);
const procedures = createServerWith({
  "GET /trpc/:procedure": [],
  "GET /:a/:b": ["b:read"],
  "GET /api/trpc/:procedure": ["procedures:<procedure>:call"],
  "GET /{*path}": ["all:read"],
  "GET /x/:path.raw/*rest": ["raw:read"],
});

const get = (target: string): AccessRequest => ({ method: "GET", target });
/** Different names of `size` characters, divided by commas, up to a length. */
const names = (bytes: number, size: number): string =>
  count(Math.floor(bytes / (size + 1)))
    .map((index) => index.toString(36).padStart(size, "0"))
    .join(",");
/** Whole parts only, so that every length is valid. */
const fill = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length));

const TENANT = { scopes: [], where: { org: { claim: "org_ids" } } };
/** Conditions on prefixes and on all paths: every path of a batch matches several of these rules. */
const conditions = createServerWith(
  {
    "* /{*path}": { scopes: [], actors: "none" },
    "* /orgs/:org{/*path}": TENANT,
    "GET /orgs/:org/:page": { scopes: [], where: { org: { claim: "tenant" } } },
    "GET /trpc/:org": TENANT,
    "* /api{/*path}": { scopes: [], clients: ["web"] },
    "GET /api/trpc/:procedure": { scopes: ["api:read"], acr: { anyOf: ["urn:example:mfa"] } },
  },
  { conditions: callerConditions() },
);
/** The rules that decide are public exceptions, so conditions are looked up without a token. */
const exceptions = createServerWith(
  {
    "GET /{*path}": "public",
    "* /{*path}": { scopes: [], actors: "none", except: ["GET /{*path}", "GET /orgs/:org/:page"] },
    "* /orgs/:org{/*path}": { ...TENANT, except: ["GET /orgs/:org/:page"] },
    "GET /orgs/:org/:page": "public",
  },
  { conditions: callerConditions() },
);

const SERVERS = { realistic, procedures, suffixes } as const;
const CONDITIONED = { conditions, exceptions } as const;

const batches: readonly (readonly [string, (bytes: number) => string])[] = [
  ["two thirds parent, one third names", (n) => `/${fill("a", (n * 2) / 3)}/${names(n / 3, 2)}?batch=1`],
  ["names only", (n) => `/trpc/${names(n - 20, 3)}?batch=1`],
  ["names in capital letters", (n) => `/trpc/${names(n - 20, 3).toUpperCase()}?batch=1`],
  ["as many names as are allowed", (n) => `/trpc/${names(Math.min(n / 2, 196), 3)}?batch=1`],
  ["a long parent and 40 names", (n) => `/${fill("A", n / 2)}/${names(Math.min(n / 2, 120), 2)}?batch=1`],
  ["a deep parent", (n) => `${fill("/a", n - 30)}/x,y,z?batch=1`],
  ["a deep parent in capital letters", (n) => `${fill("/A", n - 30)}/x,y?batch=1`],
  ["ten segments and names", (n) => `/${fill("b/", 20)}${names(n - 40, 6)}?batch=1`],
  ["commas", (n) => `/trpc/${fill(",", n - 20)}?batch=1`],
  ["encoded commas", (n) => `/trpc/${fill("a%252525252c", n - 20)}a?batch=1`],
  ["one name, repeated", (n) => `/trpc/${fill("list,", n - 20)}list?batch=1`],
  ["encoded names", (n) => `/trpc/${fill("%61%62,", n - 20)}x?batch=1`],
];

const paths: readonly (readonly [string, (bytes: number) => string])[] = [
  ["a comma list without batch=1", (n) => `/files/${fill("a,", n)}`],
  ["capital letters", (n) => fill("/S", n)],
  ["encoded letters", (n) => `/files/${fill("%41", n - 10)}`],
  ["a long segment", (n) => `/files/${fill("a", n - 10)}`],
  ["absolute form", (n) => `http://host/${fill("/a", n - 20).slice(1)}`],
  ["absolute form, apostrophes", (n) => `http://host/${fill("'", n / 3)}`],
  ["a long query", (n) => `/files/a?${fill("a=b&", n)}`],
  ["a long query, with batch", (n) => `/files/a,b?${fill("batch=%31&", n)}`],
  ["dots and hyphens", (n) => `/files/${fill(".type-1", n)}`],
];

const shapesOf = (
  own: readonly (readonly [string, (bytes: number) => string])[],
  kind: string,
  servers: Readonly<Record<string, ResourceServer>> = SERVERS,
): readonly Shape[] =>
  Object.entries(servers).flatMap(([table, server]) =>
    own.map(([name, make]) => ({ name: `${kind}, ${table}: ${name}`, server, request: (n) => get(make(n)) })),
  );

/** Paths for the tables with text beside parameters, and for the table with 256 readings. */
const aimed: readonly (readonly [string, ResourceServer, (bytes: number) => string])[] = [
  ["200 suffixes: no match", suffixes, (n) => `/files/${fill("A", n - 10)}`],
  ["200 suffixes: almost", suffixes, (n) => `/files/${fill("a", n - 20)}.type`],
  ["200 suffixes: encoded", suffixes, (n) => `/files/${fill("%41", n - 20)}%2etype7`],
  ["200 nested suffixes: no match", nested, (n) => `/nested/${fill("a.", n - 10)}b`],
  ["200 nested suffixes: match, in capital letters", nested, (n) => `/NESTED/${fill(".A", n - 10)}`],
  [
    "256 readings",
    binary,
    (n) =>
      `/${count(8)
        .map((bit) => `S${bit}`)
        .join("/")}?${fill("q", n)}`,
  ],
  [
    "256 readings, nearly",
    binary,
    (n) =>
      `/${count(7)
        .map((bit) => `S${bit}`)
        .join("/")}/${fill("X", n)}`,
  ],
  [
    "256 readings, encoded",
    binary,
    (n) =>
      `/${count(8)
        .map((bit) => `%53${bit}`)
        .join("/")}?${fill("q", n)}`,
  ],
];

const cookies = createServerWith(
  { "GET /a": [] },
  { tokenSources: [{ cookie: "t" }, { header: "authorization" }] },
);
const HEADERS: readonly Shape[] = [
  {
    name: "many cookies",
    server: cookies,
    request: (n) => ({ ...get("/a"), cookie: fill("tt=1; ", n) }),
  },
  {
    name: "many cookies of the same name",
    server: cookies,
    request: (n) => ({ ...get("/a"), cookie: fill("t=1; ", n) }),
  },
  {
    name: "many Authorization headers",
    server: realistic,
    request: (n) => ({ ...get("/agents"), authorization: Array.from({ length: n / 20 }, () => "Bearer a") }),
  },
  {
    name: "an invalid token",
    server: realistic,
    request: (n) => ({
      ...get("/agents"),
      authorization: `Bearer ${fill("a", n / 2)}.${fill("b", n / 2)}.c`,
    }),
  },
];

/** Below two different parents, in letters that have one spelling and in others. */
const shortBatches: readonly (readonly [string, (bytes: number) => string])[] = [
  "/trpc",
  "/api/trpc",
  "/orgs/a",
  "/orgs/a/b",
  "/ORGS/A/B",
  "/a/b/c/d",
].flatMap((parent): readonly (readonly [string, (bytes: number) => string])[] => {
  // A batch with more lookups is refused at once.
  const most = Math.floor(99 / parent.split("/").length);
  const batch = (n: number, size: number) => names(Math.min(n - parent.length - 9, most * (size + 1)), size);
  return [1, 2, 3].map((size) => [
    `${parent}, names of ${size} characters`,
    (n) => `${parent}/${/[A-Z]/.test(parent) ? batch(n, size).toUpperCase() : batch(n, size)}?batch=1`,
  ]);
});

/** Tokens of which only the header is long. The number of bytes is that of the encoded header. */
const joseHeaders: readonly (readonly [string, (bytes: number) => string])[] = [
  [
    "parameters",
    (n) =>
      count(n / 7)
        .map((index) => `"${index.toString(36)}":0`)
        .join(","),
  ],
  [
    "60 parameters",
    (n) =>
      count(60)
        .map((index) => `"${index.toString(36).padStart(n / 60 - 6, "0")}":0`)
        .join(","),
  ],
  ["objects", (n) => `"x":${'{"a":'.repeat(n / 7)}0${"}".repeat(n / 7)}`],
  ["arrays", (n) => `"x":${"[".repeat(n / 2)}${"]".repeat(n / 2)}`],
  ["elements", (n) => `"x":[${fill("0,", n)}0]`],
  ["a string", (n) => `"x":"${fill("x", n)}"`],
  ["escapes", (n) => `"kid":"${fill(String.raw`\"`, n)}"`],
];
const jose = joseHeaders.flatMap(([name, make]): readonly Shape[] =>
  ["HS256", "none"].map((alg) => ({
    name: `${name}, ${alg}`,
    server: conditions,
    request: (n) => {
      const header = Buffer.from(`{"alg":"${alg}",${make(Math.floor(n * 0.75) - 60)}}`).toString("base64url");
      return { ...get("/orgs/a/b"), authorization: `Bearer ${header}.e30.${"A".repeat(43)}` };
    },
  })),
);

/** A family of requests without a valid token, and the lengths in which they are sent. */
export interface Family {
  readonly name: string;
  readonly shapes: readonly Shape[];
  readonly bytes: readonly number[];
}

const BYTES = [1_000, 2_000, 4_000, 8_000];
export const FAMILIES: readonly Family[] = [
  {
    name: "no token",
    bytes: BYTES,
    shapes: [
      ...shapesOf(batches, "batch"),
      ...shapesOf(paths, "path"),
      ...aimed.map(([name, server, make]) => ({ name, server, request: (n: number) => get(make(n)) })),
      ...HEADERS,
    ],
  },
  {
    name: "no token, conditions",
    bytes: BYTES,
    shapes: [...shapesOf(batches, "batch", CONDITIONED), ...shapesOf(paths, "path", CONDITIONED)],
  },
  {
    name: "no token, batch with conditions",
    bytes: [64, 128, 255],
    shapes: shapesOf(shortBatches, "batch", CONDITIONED),
  },
  { name: "JOSE header", bytes: BYTES, shapes: jose },
];
