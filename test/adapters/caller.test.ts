/**
 * The caller is the one that the guard verified, whatever happens to the request afterwards. All adapters keep its
 * credential in `src/adapters/shared/guard.ts`, so that Express stands for them.
 */
import express from "express";
import { describe, expect, it } from "vitest";
import { principalOf, protect } from "scopegate/express";
import { askWith, serve, serverFor } from "../support/frameworks.ts";
import { issuer } from "../support/resource-servers.ts";

describe("the caller in Express with two guards", () => {
  /** Changes the credential between the guards, as a gateway does that calls its own services. */
  async function startWith(kind: "replaces" | "deletes") {
    const gateway = await issuer.token({ sub: "gateway", scopes: ["self:read", "page:read"] });
    const server = serverFor({
      "GET /self": ["self:read"],
      "GET /open": "public",
      "GET /:page": ["page:read"],
    });
    const app = express().use(protect(server), (request, _response, next) => {
      if (kind === "replaces") request.headers.authorization = `Bearer ${gateway}`;
      else delete request.headers.authorization;
      next();
    });
    app.use(protect(server));
    app.get("/:page", (request, response) => response.json(principalOf(request)?.userId ?? null));
    const port = await serve(app);
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
