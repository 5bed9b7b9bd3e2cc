/** The policy that the page makes from its data decides as the server does. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { page } from "scopegate/page";
import { explain } from "scopegate/explain";
import { explainByPolicy, type ExplainQuery } from "../../../src/capabilities/explain/explain.ts";
import type { Policy } from "../../../src/core/policy/policy.ts";
import { readPolicy, readShadow } from "../../../src/tools/page/page-data.ts";
import { createServer } from "../../support/resource-servers.ts";
import { partsOf } from "./page-text.ts";
import { options, queries } from "./random-policy.ts";

const routesOf = ({ rules }: Policy) => rules.rules.map(({ rule }) => rule);

describe("readPolicy", () => {
  it("explains random requests with random tables as `explain` does", () => {
    fc.assert(
      fc.property(options, fc.array(queries, { minLength: 10, maxLength: 20 }), (given, asked) => {
        const server = createServer(given);
        const policy = readPolicy(partsOf(page(server)).data);
        expect(routesOf(policy)).toEqual(server.routes);
        for (const query of asked) {
          const { text, decision } = explain(server, query);
          const explained = explainByPolicy(policy, query);
          expect(explained.text).toBe(text);
          expect(JSON.parse(JSON.stringify(explained.decision))).toEqual(
            JSON.parse(JSON.stringify(decision)),
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  it("keeps what a custom rule replaced, in whole and in part", () => {
    const server = createServer({
      defaultScopeMappings: { "GET /a{/*b}": ["a:read"], "GET /c": [], "* /d": [], "MCP tools/list": [] },
      scopeMappings: {
        "GET /a": "public",
        "GET /c": ["c:read"],
        "GET /e": [],
        "MCP tools/list": ["m:read"],
      },
    });
    const policy = readPolicy(partsOf(page(server)).data);
    expect(routesOf(policy)).toEqual(server.routes);
    for (const path of ["/a", "/a/b", "/c", "/d", "/e", "/f", "/A"])
      expect(explainByPolicy(policy, { method: "GET", path }).text).toBe(
        explain(server, { method: "GET", path }).text,
      );
  });

  it("compares with the table of the shadow as the server does", () => {
    const server = createServer({
      authorization: false,
      defaultScopeMappings: { "GET /a": [], "GET /b": "public", "GET /c": [] },
      shadow: { scopeMappings: { "GET /a": ["a:read"], "GET /b": [] }, unmappedRoutes: "authenticated" },
    });
    const { data } = partsOf(page(server));
    const [policy, shadow] = [readPolicy(data), readShadow(data)];
    const queries = ["/a", "/b", "/c", "/d"].flatMap((path): readonly ExplainQuery[] => [
      { method: "GET", path },
      { method: "GET", path, scopes: [] },
    ]);
    const shadows = queries.flatMap((query) => {
      const explained = explainByPolicy(policy, query, shadow);
      expect(explained.text).toBe(explain(server, query).text);
      return explained.decision.shadow ?? [];
    });
    expect(shadows).toMatchObject([{ reason: "scope_insufficient" }, "undecided"]);
  });
});
