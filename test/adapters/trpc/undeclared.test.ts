import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask } from "../../support/http.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createResourceServer } from "../../support/server.ts";
import { ADMIN_ATTACKS, type Host, HOSTS, ran, startHost, USER_ATTACKS } from "./hosts.ts";

const issuer = createIssuer();
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: {
    "* /trpc/:procedure": [],
    "* /trpc/*path": [],
    "* /trpc/adminSecret": ["admin:use"],
    "* /trpc/adminDelete": ["admin:use"],
    "* /trpc/user.list": ["users:read"],
    "* /trpc/user.remove": ["users:write"],
    "GET /trpc/open": "public",
  },
});

describe.each(HOSTS)("without scopegate/trpc, the guard before tRPC on %s", (name) => {
  let host: Host;
  let token: string;
  beforeAll(async () => {
    host = await startHost(name, { server, createContext: () => ({}) });
    token = await issuer.token({ scopes: ["other:use"] });
  });
  afterAll(() => host.close());
  beforeEach(() => void ran.splice(0));

  it("runs no procedure whose rule the caller does not satisfy, in any spelling of a batch", async () => {
    const passed: string[] = [];
    for (const [method, path] of [...ADMIN_ATTACKS, ...USER_ATTACKS]) {
      ran.length = 0;
      const body = method === "POST" ? {} : undefined;
      await ask(host.port, { method, path, token, body, headers: [["trpc-accept", "application/jsonl"]] });
      await ask(host.port, { method, path, token, body });
      if (ran.some((one) => one.startsWith("admin") || one.startsWith("user")))
        passed.push(`${method} ${path}`);
    }
    expect(passed).toEqual([]);
  });

  it("runs a batch whose procedures the caller may call", async () => {
    const path = "/trpc/list,user.list,list?batch=1";
    const reader = await issuer.token({ scopes: ["users:read"] });
    expect((await ask(host.port, { path, token: reader })).status).toBe(200);
    expect(ran).toEqual(["list", "user.list", "list"]);
    expect((await ask(host.port, { path, token })).status).toBe(403);
    expect(
      (await ask(host.port, { path: `/trpc/list,${"open,".repeat(300)}list?batch=1`, token })).status,
    ).toBe(200);
  });
});
