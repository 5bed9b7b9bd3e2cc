import { decodeProtectedHeader } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type OpenIdProvider, openOpenIdProvider } from "../support/openid-provider.ts";
import { applications } from "./applications.ts";
import { forge, readingsOf, SCOPE, startRemote, TIMES, trust } from "./remote-service.ts";

const { maxAgeMs, staleMs, cooldownMs } = TIMES;

// Shared, as keys take long to make. Every test leaves them running; which key signs then is up to the test.
let provider: OpenIdProvider;
beforeAll(async () => {
  provider = await openOpenIdProvider();
});
afterEach(() => provider.start());
afterAll(() => provider.close());

const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? "";

describe.each(applications)("$name with the keys of an OpenID Provider", (application) => {
  const start = () => startRemote(application, trust(provider.issuer));

  it("accepts its access tokens and rejects all others", async () => {
    const { ask, verdict, events } = await start();
    const token = await provider.token({ scope: SCOPE });
    expect(await ask({ path: "/agents/web", token })).toMatchObject({
      status: 200,
      body: { agent_id: "web" },
    });
    expect(await verdict(await provider.token({ scope: `tools:use ${SCOPE}` }))).toBe(200);

    const other = await provider.token({ scope: "agents:api:read" });
    const refused = await ask({ path: "/agents/web", token: other });
    expect(refused).toMatchObject({ status: 403, body: { missing_scopes: [SCOPE] } });
    expect(refused.headers["www-authenticate"]).toContain('error="insufficient_scope"');

    const [header, , signature] = other.split(".");
    expect(await verdict([header, token.split(".")[1], signature].join("."))).toBe("signature");
    expect(await verdict(await provider.token({ scope: SCOPE, resource: "https://tools.example" }))).toBe(
      "audience",
    );
    const fetched = { type: "fetched", source: `${provider.issuer}/`, issuer: provider.issuer };
    expect(events()).toMatchObject([
      { ...fetched, reason: "first_use" },
      { ...fetched, reason: "bad_signature" },
    ]);
  });

  it("accepts a new key at once, and a withdrawn key for at most maxAgeMs", async () => {
    const { verdict, events, advance } = await start();
    const older = await provider.token({ scope: SCOPE });
    const replaced = kidOf(older);
    expect(await verdict(older)).toBe(200);
    advance(cooldownMs);

    const added = `key of ${application.name}`;
    provider.publish(added);
    const before = readingsOf(provider);
    expect(await verdict(older)).toBe(200);
    expect(readingsOf(provider)).toEqual(before);

    provider.signWith(added);
    const newer = await provider.token({ scope: SCOPE });
    expect(kidOf(newer)).toBe(added);
    expect(await Promise.all([verdict(newer), verdict(newer)])).toEqual([200, 200]);
    expect(await verdict(older)).toBe(200);
    expect(readingsOf(provider)).toEqual({ metadata: before.metadata + 1, keys: before.keys + 1 });
    expect(events().map(({ type }) => type)).toEqual(["fetched", "fetched", "rotated"]);

    provider.withdraw(replaced);
    advance(maxAgeMs);
    expect(await verdict(older)).toBe("key");
    expect(await verdict(newer)).toBe(200);
    expect(events().map(({ type }) => type)).toEqual(["fetched", "rotated"]);
  });

  it("keeps serving for maxAgeMs and staleMs while the provider is down, and recovers from a longer outage", async () => {
    const { ask, verdict, events, advance } = await start();
    const token = await provider.token({ scope: SCOPE });
    expect(await verdict(token)).toBe(200);
    events();
    await provider.stop();
    advance(maxAgeMs / 2);
    expect(await verdict(token)).toBe(200);
    expect(events()).toEqual([]);

    advance(maxAgeMs / 2);
    expect(await verdict(token)).toBe(200);
    expect(await verdict(token)).toBe(200);
    const told = { source: `${provider.issuer}/`, issuer: provider.issuer };
    const message = expect.stringContaining("ECONNREFUSED") as string;
    expect(events()).toMatchObject([
      { type: "failed", message, ...told },
      { type: "stale", message, ...told },
    ]);
    // It may be good: its key cannot be asked for.
    expect(await verdict(await forge({ iss: provider.issuer }))).toBe(503);

    advance(staleMs);
    expect(await ask({ path: "/agents/web", token })).toMatchObject({
      status: 503,
      body: { code: "keys_unavailable" },
    });
    await provider.start();
    expect(await verdict(token)).toBe(503);
    advance(cooldownMs);
    expect(await verdict(token)).toBe(200);
    expect(events().map(({ type }) => type)).toEqual(["stale_ended", "failed", "fetched"]);
  });

  it("answers 503 on every route that reads a token, with one request to the provider", async () => {
    const token = await provider.token({ scope: "platform:admin" });
    await provider.stop();
    const { ask, events, ran } = await start();
    const reading = [
      "/agents",
      "/signed-in",
      "/optional",
      "/extra/5",
      "/any",
      "/mounted/items/7",
      "/mounted",
    ];
    const answers = await Promise.all([
      ...reading.map((path) => ask({ path, token })),
      ask({ method: "POST", path: "/custom/endpoint", token, body: { any: "body" } }),
    ]);
    for (const { status, headers, body } of answers) {
      expect({ status, body }).toEqual({
        status: 503,
        body: {
          type: "about:blank",
          title: "Service Unavailable",
          status: 503,
          detail: "The access token cannot be checked at the moment.",
          code: "keys_unavailable",
        },
      });
      expect(headers["content-type"]).toBe("application/problem+json");
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
      expect(headers).not.toHaveProperty("www-authenticate");
      expect(JSON.stringify(headers)).not.toContain(provider.issuer);
    }
    expect(await ask({ method: "HEAD", path: "/agents", token })).toMatchObject({ status: 503, text: "" });
    expect(events().map(({ type }) => type)).toEqual(["failed"]);
    expect(ran).toEqual([]);
  });

  it("decides without the provider if no key is needed", async () => {
    const token = await provider.token({ scope: SCOPE });
    await provider.stop();
    const { ask, events } = await start();
    expect(await ask({ path: "/public/stats", token })).toMatchObject({ status: 200 });
    expect(await ask({ path: "/optional" })).toMatchObject({ status: 200, body: { user: null } });
    expect(await ask({ path: "/agents" })).toMatchObject({ status: 401 });
    expect(await ask({ path: "/agents", token: "not.a.token" })).toMatchObject({ status: 401 });
    expect(await ask({ path: "/unmapped", token })).toMatchObject({ status: 403 });
    expect(events()).toEqual([]);
  });
});
