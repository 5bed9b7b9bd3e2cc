import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createResourceServer, type ResourceServer } from "scopegate";
import * as trpc from "scopegate/trpc";
import { trpcBatches } from "scopegate/trpc";
import { forOperations } from "../../src/capabilities/batches/rules.ts";
import { pipelineOf } from "../../src/core/port.ts";
import { issuer, thrownBy } from "../support/resource-servers.ts";
import { keysOf, PROPERTY, tableOf } from "../support/policy.ts";

const RULES = {
  "GET /trpc/:procedure": ["any:use"],
  "GET /trpc/list": ["list:use"],
  "GET /trpc/secret": ["secret:use"],
  "GET /trpc/a/:id": ["a:use"],
  "GET /open": "public",
  "GET /secret": ["top:use"],
} as const;

const declared = (prefix: string) => {
  const table = tableOf(RULES);
  table.batches?.declare(prefix);
  return table;
};

const [UNDECLARED, DECLARED] = [tableOf(RULES), declared("/trpc")];
const keys = (table: typeof UNDECLARED, target: string) => keysOf(table.forTarget("GET", target, true));

describe("a batch under a prefix that is not declared", () => {
  it.each(["list,secret", "list%2Csecret", "list%2csecret", "list%252Csecret", "list%25252Csecret"])(
    "requires the rule for its path, for each name, and for each name at a shorter prefix: %s",
    (names) => {
      const rules = ["GET /trpc/:procedure", "GET /trpc/list", "GET /trpc/secret", "GET /secret"];
      expect(keys(UNDECLARED, `/trpc/${names}?batch=1`)).toEqual(rules);
    },
  );

  it("requires the rule for a name at each prefix that the path may be served at", () => {
    expect(keys(UNDECLARED, "/trpc/a/x,secret?batch=1")).toEqual([
      "GET /trpc/a/:id",
      "GET /trpc/secret",
      "GET /secret",
    ]);
  });

  it.each(["batch=1", "%62%61%74%63%68=%31", "x=2&batch=1", "batch=0&batch=1", "batch=1&batch=0"])(
    "recognizes the query %s",
    (query) => expect(keys(UNDECLARED, `/trpc/list,secret?${query}`)).toContain("GET /trpc/secret"),
  );

  it.each(["", "?", "?batch=0", "?batch=01", "?Batch=1", "?x=batch=1", "?batch=1x", "?batch%3D1"])(
    "ignores the query %j",
    (query) => expect(keys(UNDECLARED, `/trpc/list,secret${query}`)).toEqual(["GET /trpc/:procedure"]),
  );

  it("finds no rule if the path or one name is unmapped", () => {
    expect(keys(UNDECLARED, "/elsewhere/list,secret?batch=1")).toBe("unmapped");
    expect(keys(UNDECLARED, "/open,elsewhere?batch=1")).toBe("unmapped");
  });
});

describe("a batch under a declared prefix", () => {
  it("requires only the rules for its names", () => {
    expect(keys(DECLARED, "/trpc/list,secret?batch=1")).toEqual(["GET /trpc/list", "GET /trpc/secret"]);
    expect(keys(declared(""), "/open,secret?batch=1")).toEqual(["GET /open", "GET /secret"]);
  });

  it.each(["/TRPC/list,secret", "/trpc/list,secret/", "/trpc/a/list,secret", "/trpc,x/list,secret"])(
    "counts as undeclared if its path is spelled in another way: %s",
    (path) => expect(keys(DECLARED, `${path}?batch=1`)).toEqual(keys(UNDECLARED, `${path}?batch=1`)),
  );
});

describe("the size of a batch", () => {
  const batchOf = (prefix: string, count: number) =>
    `${prefix}/${Array.from({ length: count }, (_, index) => index.toString(36)).join(",")}?batch=1`;

  it.each([
    ["/trpc", 50],
    ["/api/trpc", 33],
    ["/v1/api/trpc", 25],
  ])("allows below %s, which is not declared, %i different names and no more", (prefix, count) => {
    expect(keys(UNDECLARED, batchOf(prefix, count))).not.toBe("ambiguous");
    expect(keys(UNDECLARED, batchOf(prefix, count + 1))).toBe("ambiguous");
  });

  it.each(["/trpc", "/api/trpc"])(
    "allows below the declared prefix %s 100 different names and no more",
    (prefix) => {
      expect(keys(declared(prefix), batchOf(prefix, 100))).not.toBe("ambiguous");
      expect(keys(declared(prefix), batchOf(prefix, 101))).toBe("ambiguous");
    },
  );

  it("allows 8,192 characters in all paths below a declared prefix, and no more", () => {
    const prefix = `/${"p".repeat(95)}`;
    const names = Array.from({ length: 64 }, (_, index) => String(index).padEnd(31, "x"));
    expect(names.map((name) => `${prefix}/${name}`).join("")).toHaveLength(8_192);
    expect(keys(declared(prefix), `${prefix}/${names.join(",")}?batch=1`)).not.toBe("ambiguous");
    expect(keys(declared(prefix), `${prefix}/x${names.join(",")}?batch=1`)).toBe("ambiguous");
  });
});

describe.each([
  ["undeclared", UNDECLARED],
  ["declared", DECLARED],
])("a batch, %s", (_, table) => {
  it.each(["list,", ",list", "list,,secret", "list,..", "list,%2e", "list,%2F", "list,;"])(
    "refuses a name that is empty or cannot be read: %s",
    (names) => expect(keys(table, `/trpc/${names}?batch=1`)).toBe("ambiguous"),
  );

  it.each(["list,", "list,.."])("reports why it refuses %s", (names) => {
    expect(table.forTarget("GET", `/trpc/${names}?batch=1`, true)).toMatchObject({
      cause: "A name in the batch is empty or can't be read, or the batch is too long.",
    });
  });

  it("allows 40 different names and any number of equal ones, and refuses hundreds of different ones", () => {
    const names = (count: number) => Array.from({ length: count }, (_one, index) => index.toString(36));
    expect(keys(table, `/trpc/${names(40).join(",")}?batch=1`)).toContain("GET /trpc/:procedure");
    expect(keys(table, `/trpc/${names(300).join(",")}?batch=1`)).toBe("ambiguous");
    expect(keys(table, `/trpc/${"list,".repeat(1_500)}secret?batch=1`)).toContain("GET /trpc/secret");
  });

  it("refuses names whose paths are too long together", () => {
    const names = Array.from({ length: 90 }, (_one, index) => `${index}${"x".repeat(80)}`);
    expect(keys(table, `/trpc/${names.slice(0, 40).join(",")}?batch=1`)).toContain("GET /trpc/:procedure");
    const parent = "p".repeat(400);
    expect(keys(table, `/${parent}/${names.slice(0, 40).join(",")}?batch=1`)).toBe("ambiguous");
  });

  it("refuses without a route check if one name is not spelled as in the table", () => {
    expect(keysOf(table.forTarget("GET", "/trpc/list,secret?batch=1", false))).toContain("GET /trpc/secret");
    expect(keysOf(table.forTarget("GET", "/trpc/list,Secret?batch=1", false))).toBe("ambiguous");
  });
});

it("adds rules to those of the path and removes none, whatever the path", () => {
  const segment = fc.constantFrom(
    "trpc",
    "a",
    "list",
    "secret",
    "open",
    "x",
    "list,secret",
    "a,x",
    "%73ecret",
  );
  const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join("/")}`);
  fc.assert(
    fc.property(path, (own) => {
      const [without, batch] = [keys(UNDECLARED, own), keys(UNDECLARED, `${own}?batch=1`)];
      if (typeof batch !== "string") expect(batch).toEqual(expect.arrayContaining([without].flat()));
      if (typeof without === "string") expect(typeof batch).toBe("string");
    }),
    PROPERTY,
  );
});

it("refuses a batch if the path of one name is refused", () => {
  const table = tableOf({ "GET /trpc/list": ["list:use"], "GET /trpc/secret": ["secret:use"] });
  table.batches?.declare("/trpc");
  expect(table.forTarget("GET", "/trpc/list,%73ecret?batch=1", true)).toMatchObject({
    kind: "ambiguous",
    cause: "The path matches a rule only after it is decoded.",
  });
});

describe("the operations of one request", () => {
  const found = UNDECLARED.forTarget("GET", "/trpc/list", true);
  const withCalls = (...targets: string[]) => forOperations(UNDECLARED, found, "GET", targets);

  it("requires the rules of all operations and of the path", () => {
    expect(keysOf(withCalls("/trpc/secret", "/trpc/other"))).toEqual([
      "GET /trpc/secret",
      "GET /trpc/:procedure",
      "GET /trpc/list",
    ]);
  });

  it("returns the rules for the path if the operations require no others", () => {
    expect(withCalls("/trpc/list")).toBe(found);
    expect(withCalls()).toBe(found);
  });

  it("leaves a request unmapped if one of its operations is unmapped", () => {
    expect(withCalls("/nowhere").kind).toBe("unmapped");
    expect(withCalls("/trpc/secret", "/nowhere").kind).toBe("unmapped");
  });

  it("leaves a request unmapped if its path is, although its operations have rules", () => {
    const unmapped = UNDECLARED.forTarget("GET", "/nowhere", true);
    expect(forOperations(UNDECLARED, unmapped, "GET", ["/trpc/list"]).kind).toBe("unmapped");
    expect(forOperations(UNDECLARED, unmapped, "GET", [])).toBe(unmapped);
  });

  it("refuses a request if one of its operations cannot be read", () => {
    expect(keysOf(withCalls("/trpc/secret", "//"))).toBe("ambiguous");
  });

  it("keeps the refusal of the path, whatever its operations are", () => {
    const refused = DECLARED.forTarget("GET", "//trpc", true);
    expect(forOperations(DECLARED, refused, "GET", ["/open"])).toBe(refused);
  });
});

describe("a server without `batches`", () => {
  const create = (options: object = {}) =>
    createResourceServer({
      serviceId: "agents",
      verificationKeys: [issuer.publicPem],
      unmappedRoutes: "authenticated",
      scopeMappings: { "GET /{*path}": "public" },
      ...options,
    });

  it.each([
    "/trpc/list,secret?batch=1",
    "/trpc/list%2Csecret?batch=1",
    "/trpc/list%25252csecret?%62atch=%31",
    "/list,secret?x=2&batch=1",
    "/list,secret/?batch=1",
  ])("refuses what looks like a batch, and the decision says why: %s", async (target) => {
    expect(await create().check({ method: "GET", target })).toMatchObject({
      reason: "request_ambiguous",
      cause:
        "The request looks like a batch of tRPC. Write `batches: trpcBatches()`, imported from scopegate/trpc.",
    });
    expect((await create({ batches: trpcBatches() }).check({ method: "GET", target })).allowed).toBe(
      !target.endsWith("/?batch=1"),
    );
  });

  it.each(["/trpc/list,secret", "/trpc/list?batch=1", "/a,b?batch=2", "/a?x=,&batch=1"])(
    "allows what is no batch: %s",
    async (target) => {
      expect((await create().check({ method: "GET", target })).allowed).toBe(true);
    },
  );

  it("can be the server of the guard of tRPC, which then refuses batches", () => {
    expect(() => trpc.protect(create(), { prefix: "/trpc" })).not.toThrow();
  });

  it("refuses anything but a value of trpcBatches", () => {
    for (const batches of [true, {}, trpcBatches])
      expect(thrownBy(() => create({ batches })).issues).toMatchObject([
        {
          code: "option_invalid",
          path: ["batches"],
          hint: expect.stringContaining("trpcBatches()") as string,
        },
      ]);
  });
});

it("declares a prefix for one server only, although several are made from one value", () => {
  const batches = trpcBatches();
  const [first, second] = [1, 2].map(() =>
    createResourceServer({
      serviceId: "agents",
      verificationKeys: [issuer.publicPem],
      scopeMappings: RULES,
      batches,
    }),
  );
  if (!first || !second) throw new Error("There are two servers.");
  trpc.protect(first, { prefix: "/trpc" });
  const keysIn = (server: ResourceServer) =>
    keysOf(pipelineOf(server).policy.table.forTarget("GET", "/trpc/list,secret?batch=1", true));
  expect(keysIn(first)).toEqual(["GET /trpc/list", "GET /trpc/secret"]);
  expect(keysIn(second)).toContain("GET /trpc/:procedure");
});

// Fastify decodes the path once, and tRPC decodes it again.
it.each(["%25%32%43", "%252%43", "%25%32c", "%2525%32%43"])(
  "refuses names that %s separates, with the option and without it",
  async (comma) => {
    const scopeMappings = { "GET /trpc{/*path}": "public", "GET /trpc/secret": ["secret:use"] } as const;
    const options = { serviceId: "agents", verificationKeys: [issuer.publicPem], scopeMappings };
    for (const more of [{}, { batches: trpcBatches() }]) {
      const server = createResourceServer({ ...options, ...more });
      const target = `/trpc/list${comma}secret?batch=1`;
      const decision = await server.check({ method: "GET", target, matchedPattern: "/trpc/*" });
      expect(decision).toMatchObject({ allowed: false, reason: "request_ambiguous" });
    }
  },
);
