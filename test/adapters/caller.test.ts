/**
 * The caller is the one that the guard verified, whatever happens to the request afterwards. All adapters keep its
 * credential in `src/adapters/shared/guard.ts`, so that Express stands for them.
 */
import express5 from "express";
import { describe, expect, it } from "vitest";
import { principalOf, protect } from "scopegate/express";
import { askWith, EXPRESS_VERSIONS, serve, serverFor } from "../support/frameworks.ts";
import { issuer } from "../support/resource-servers.ts";

const createResource = () =>
  serverFor({ "GET /self": ["self:read"], "GET /open": "public", "GET /:page": ["page:read"] });

/** Changes the credential of a request, as a gateway does that calls its own services. */
type Change = (headers: { authorization?: string | undefined }) => void;

const startExpress =
  (express: typeof express5, hasSecondGuard = false) =>
  (change: Change) => {
    const server = createResource();
    const app = express().use(protect(server), (request, _response, next) => {
      change(request.headers);
      next();
    });
    if (hasSecondGuard) app.use(protect(server));
    app.get("/:page", (request, response) => response.json(principalOf(request)?.userId ?? null));
    return serve(app);
  };

describe.each([
  ...EXPRESS_VERSIONS.map(([name, express]) => [name, startExpress(express)] as const),
  ["Express 5 with two guards", startExpress(express5, true)] as const,
])("the caller in %s", (_, start) => {
  const gateway = () => issuer.token({ sub: "gateway", scopes: ["self:read", "page:read"] });

  async function startWith(kind: "replaces" | "deletes") {
    const other = `Bearer ${await gateway()}`;
    const port = await start((headers) => {
      if (kind === "replaces") headers.authorization = other;
      else delete headers.authorization;
    });
    return async (path: string, scopes?: readonly string[]) => {
      const token = scopes && (await issuer.token({ sub: "caller", scopes }));
      const { status, body } = await askWith(port, path, undefined, { token });
      return status === 200 ? body : status;
    };
  }

  it.each(["replaces", "deletes"] as const)(
    "keeps its scopes at the route when middleware %s the credential",
    async (kind) => {
      const get = await startWith(kind);
      expect(await get("/self", ["self:read", "page:read"])).toBe("caller");
      expect(await get("/self", ["self:read"])).toBe(403);
      expect(await get("/other", ["page:read"])).toBe("caller");
      expect(await get("/other", ["self:read"])).toBe(403);
    },
  );

  it.each(["replaces", "deletes"] as const)(
    "verifies the first credential at the route of a public path when middleware %s the credential",
    async (kind) => {
      const get = await startWith(kind);
      expect(await get("/open")).toBe(401);
      expect(await get("/open", ["self:read"])).toBe(403);
      expect(await get("/open", ["page:read"])).toBe("caller");
    },
  );
});
