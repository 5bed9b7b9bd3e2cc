import { afterEach, expect, it, vi } from "vitest";
import { type KeyFetch } from "scopegate";
import { createRemoteResolver } from "../../../src/core/keys/remote-source.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createRemote, MAX_AGE, setOf } from "../../support/remote-keys.ts";

const first = createIssuer({ kid: "first" });
const second = createIssuer({ kid: "second" });
const jwksUri = "https://issuer.example/jwks";

afterEach(() => void vi.unstubAllGlobals());

it("keeps a key as the same object while it is published", async () => {
  let [time, set] = [0, setOf(first, second)];
  const fetch: KeyFetch = () => Promise.resolve(Response.json(set));
  const use = {
    algorithms: ["RS256"],
    issuer: undefined,
    path: ["keys"],
    onKeyEvent: () => undefined,
  } as const;
  const resolver = createRemoteResolver({ jwksUri, fetch }, { ...use, now: () => time }, () => undefined);
  const find = async (kid: string) => resolver?.find({ algorithm: "RS256", kid });
  const [one, other] = [await find("first"), await find("second")];
  time += MAX_AGE;
  set = setOf(second, { publicJwk: { ...first.publicJwk, use: "sig" } });
  expect((await find("second"))?.[0]).toBe(other?.[0]);
  expect(await find("first")).toHaveLength(1);
  expect((await find("first"))?.[0]).not.toBe(one?.[0]);
  resolver?.close();
});

it("uses the current global fetch unless the options contain one", async () => {
  const fetch = vi.fn<KeyFetch>(() => Promise.resolve(Response.json(setOf(first))));
  const [own, platform] = [createRemote({ jwksUri, fetch }), createRemote({ jwksUri })];
  const later = vi.fn<KeyFetch>(() => Promise.resolve(Response.json(setOf(second))));
  vi.stubGlobal("fetch", later);
  expect(await own.verdict(await first.token())).toBe("accepted");
  expect(await platform.verdict(await second.token())).toBe("accepted");
  for (const { mock } of [fetch, later]) {
    const init = { method: "GET", redirect: "manual", signal: expect.any(AbortSignal) as AbortSignal };
    expect(mock.calls).toMatchObject([[jwksUri, init]]);
  }
});
