/**
 * The table of the guard, and a handwritten policy for the handlers. The policy is the reference: it uses the
 * parameters that the handler receives, and shares no code with the library.
 */
import type { ScopeMappings } from "scopegate";

/**
 * `"everyone"`: no token is needed. `"nobody"`: the handler must never run. An array: all of these scopes are
 * required.
 */
export type Needs = "everyone" | "nobody" | readonly string[];

export interface HandlerPolicy {
  /** What the narrowest rule that covers the whole route requires, by method if the route has several. */
  readonly needs: Needs | Readonly<Record<string, Needs>>;
  /**
   * Rules that cover a part of the route, by the value of a parameter. They are required too. A key that ends
   * with a slash is a prefix. With `alone`, the whole route has no rule, and the rule for the part decides.
   */
  readonly parts?: {
    readonly parameter: string;
    readonly cases: Readonly<Record<string, Needs>>;
    readonly alone?: boolean;
  };
}

export const TABLE: ScopeMappings = {
  "GET /": ["root:read"],
  "GET /health": "public",
  "GET /whoami": "optional",
  "GET /me": [],
  "GET /agents": ["agents:list"],
  "GET /agents/me": ["profile:read"],
  "GET /agents/:id": ["agents:<id>:read"],
  "POST /agents/:id": ["agents:<id>:update"],
  "DELETE /agents/:id": ["agents:<id>:delete"],
  "POST /agents/:id/runs": ["agents:<id>:run"],
  "GET /pages/:page": ["pages:<page>:read"],
  "GET /pages/index": "public",
  "GET /tools/:id": ["tools:<id>:read"],
  "GET /tools/kit": ["toolkit:read"],
  "GET /files/*path": ["files:read"],
  "GET /files/public/*path": "public",
  "GET /files/private/*path": ["files:admin"],
  "GET /tree/*path": ["tree:read"],
  "GET /tree/leaf/*path": "public",
  "GET /anything/:id": ["anything:read"],
  "* /anything/:id": ["anything:write"],
  "GET /inbox": "public",
  "* /inbox": ["inbox:write"],
  "HEAD /probe": ["probe:head", "probe:read"],
  "GET /probe": ["probe:read"],
  "GET /spans/:span": ["spans:read"],
  "GET /Reports/:id": ["reports:<id>:read"],
  "GET /optional/:id": ["optional:<id>:read"],
  "GET /optional": ["optional:read"],
  "GET /wide/one": ["wide:one"],
  "GET /wide/two": "public",
  "GET /crews/me/card": "public",
  "GET /crews/me/runs": ["profile:runs"],
  "GET /crews/:id/card": ["crews:<id>:card"],
  "GET /crews/:id/runs": ["crews:<id>:runs"],
  "GET /crews/:id/tasks/:task": ["crews:<id>:read", "tasks:<task>:read"],
  "GET /steps/:id": ["steps:<id>:read"],
  "GET /steps/open": "public",
  "GET /steps/final": ["steps:finish"],
  "* /walk/*rest": ["walk:any"],
  "GET /walk/:id": ["walk:<id>:read"],
  "GET /walk/free": "public",
  "GET /alias/*path": "public",
  "GET /list/:id": ["list:<id>:read"],
  "GET /list/all": "public",
  "GET /numbers/:id": ["numbers:<id>:read"],
  "GET /numbers/0": "public",
  "GET /images/:name": ["images:read"],
};

const withParts = (
  needs: Needs,
  parameter: string,
  cases: Readonly<Record<string, Needs>>,
): HandlerPolicy => ({
  needs,
  parts: { parameter, cases },
});

/** The handlers whose route has several rules, or none of its own. */
const HANDLERS: Readonly<Record<string, HandlerPolicy>> = {
  "GET /agents/:id": withParts(["agents:<id>:read"], "id", { me: ["profile:read"] }),
  "GET /tools/:id": withParts(["tools:<id>:read"], "id", { kit: ["toolkit:read"] }),
  "GET /files/*path": withParts(["files:read"], "path", { "private/": ["files:admin"] }),
  "ALL /anything/:id": { needs: { GET: ["anything:read"], "*": ["anything:write"] } },
  "ALL /inbox": { needs: { GET: "everyone", "*": ["inbox:write"] } },
  "GET /probe": { needs: { HEAD: ["probe:head", "probe:read"], GET: ["probe:read"] } },
  "GET /spans/:from-:to": { needs: ["spans:read"] },
  "GET /optional{/:id}": { needs: ["optional:<id>:read"] },
  "GET /images/:name.:ext": { needs: ["images:read"] },
  "GET /internal": { needs: "nobody" },
  "GET /internal/:id": { needs: "nobody" },
  "GET /wide/*path": {
    needs: "nobody",
    parts: { parameter: "path", cases: { one: ["wide:one"], two: "everyone" }, alone: true },
  },
  "GET /crews/:id/runs": withParts(["crews:<id>:runs"], "id", { me: ["profile:runs"] }),
  "GET /steps/:id": withParts(["steps:<id>:read"], "id", { final: ["steps:finish"] }),
  "ALL /walk/*rest": { needs: ["walk:any"] },
  // No rule covers a regular expression, so the path decides.
  "GET /numbers/(\\d+)": {
    needs: ["numbers:<0>:read"],
    parts: { parameter: "0", cases: { "0": "everyone" }, alone: true },
  },
};

/** What a handler requires: the rule of its own route, unless `HANDLERS` has something else. */
export function policyOf(handler: string): HandlerPolicy {
  const policy = HANDLERS[handler];
  if (policy) return policy;
  const rule = TABLE[handler as keyof ScopeMappings];
  if (rule === "public" || rule === "optional") return { needs: "everyone" };
  if (Array.isArray(rule)) return { needs: rule as readonly string[] };
  throw new Error(`The policy has no entry for \`${handler}\`.`);
}
