import { execFileSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeysUnavailableError } from "scopegate";
import { type KeyMaterial, type KeyResolver } from "../../src/keys/verification-key.ts";
import { withinLimit } from "../../src/runtime/time-limit.ts";
import { type TokenRules } from "../../src/token/verifier.ts";
import { createVerifier } from "../support/verifier.ts";
import { createServer, issuer, issuesOf, NOW, verdictOf } from "../support/resource-servers.ts";

const never = new Promise<never>(() => undefined);

describe("an answer that is waited for", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("is handed on when it comes in time, and leaves no timer behind", async () => {
    expect(await withinLimit(Promise.resolve(5), "Somebody")).toBe(5);
    expect(await withinLimit(5, "Somebody")).toBe(5);
    await expect(withinLimit(Promise.reject(new Error("no")), "Somebody")).rejects.toThrow("no");
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<readonly [string, PromiseLike<unknown>]>([
    ["a promise", never],
    ["a promise of another library", { then: () => never }],
  ])("is an error after five seconds, and no timer: %s", async (_, answer) => {
    const failed = vi.fn<(error: Error) => void>();
    void withinLimit(answer, "Somebody").catch(failed);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(failed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(failed.mock.calls[0]?.[0].message).toBe("Somebody timed out after 5000 ms.");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is an error at once where asking for it already fails", async () => {
    const odd = Object.defineProperty({}, "then", {
      get: () => {
        throw new Error("odd");
      },
    });
    await expect(withinLimit(odd as PromiseLike<unknown>, "Somebody")).rejects.toThrow("odd");
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("keeps no process alive that has nothing else to do", () => {
  const setTimer = vi.spyOn(globalThis, "setTimeout");
  void withinLimit(never, "Somebody");
  const timer = setTimer.mock.results[0]?.value as NodeJS.Timeout;
  setTimer.mockRestore();
  expect(timer.hasRef()).toBe(false);
  clearTimeout(timer);
});

describe("a key source that never answers", () => {
  const rules: TokenRules = {
    algorithms: ["RS256"],
    issuer: undefined,
    audience: undefined,
    requiredClaims: [],
    tokenTypes: ["JWT"],
    clockToleranceSeconds: 0,
    maxTokenAgeSeconds: undefined,
    now: () => NOW * 1000,
  };
  const keyOf = (material: () => KeyMaterial | Promise<KeyMaterial>) => [
    { algorithms: new Set(["RS256"] as const), material },
  ];

  it.each<readonly [string, KeyResolver["find"], RegExp]>([
    ["to the import of a key", () => keyOf(() => never), /import of a key/],
    ["to the import of a key that came late", () => Promise.resolve(keyOf(() => never)), /import of a key/],
  ])("%s gives no verdict, in time: no answer is not a bad token", async (_, find, message) => {
    const token = await issuer.token();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const verifying = createVerifier(rules, find)(token);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await verifying).toEqual({
        kind: "unavailable",
        cause: expect.objectContaining({ message: expect.stringMatching(message) as string }) as Error,
      });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each<readonly [string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "key"],
    ["a promise of nothing", Promise.resolve()],
    ["a list of nothing", [undefined]],
    ["a key without material", [{ algorithms: new Set(["RS256"]) }]],
    ["a key that cannot be imported", keyOf(() => Promise.reject(new Error("The import failed.")))],
    [
      "a key whose import throws",
      keyOf(() => {
        throw new Error("The import failed.");
      }),
    ],
  ])("gives no verdict either when it answers %s", async (_, answer) => {
    const find = () => answer as ReturnType<KeyResolver["find"]>;
    const verify = createVerifier(rules, find);
    expect(await verify(await issuer.token())).toMatchObject({ kind: "unavailable" });
  });

  it.each([0, 1])("waits for no timer where the keys are there already: %i of them", async (count) => {
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    const find = () => keyOf(() => issuer.publicKey).slice(0, count);
    const { kind } = await createVerifier(rules, find)(await issuer.token());
    expect(kind).toBe(count === 0 ? "rejected" : "verified");
    expect(setTimer).not.toHaveBeenCalled();
    setTimer.mockRestore();
  });
});

describe.skipIf(process.platform === "win32")("a pipe in the place of a key file", () => {
  let directory: string;
  const makePipe = (name: string): string => {
    const pipe = join(directory, name);
    execFileSync("mkfifo", [pipe]);
    return pipe;
  };
  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "pipe-"))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it("is refused at construction: nobody may ever write to it", () => {
    const jwksFile = makePipe("jwks.json");
    expect(issuesOf({ serviceId: "agents-prod", keys: { jwksFile } })).toMatchObject([
      { code: "key_file_unreadable", path: ["keys", "jwksFile"] },
    ]);
  });

  it("later leaves the old keys in place, and is reported", async () => {
    const jwksFile = join(directory, "jwks.json");
    writeFileSync(jwksFile, JSON.stringify({ keys: [issuer.publicJwk] }));
    const onKeyEvent = vi.fn();
    const server = createServer({ keys: { jwksFile }, onKeyEvent });
    renameSync(makePipe("pipe"), jwksFile);
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(onKeyEvent.mock.calls).toMatchObject([[{ type: "failed", source: jwksFile }]]);
    await expect(server.ready()).resolves.toBeUndefined();
  });
});

it("lets ready() fail in time as well", async () => {
  const hanging = createServer({ algorithm: "HS256", verificationKeys: ["k".repeat(32)] });
  const importKey = vi.spyOn(globalThis.crypto.subtle, "importKey").mockReturnValue(never);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const readying = hanging.ready().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await readying).toBeInstanceOf(KeysUnavailableError);
  } finally {
    vi.useRealTimers();
    importKey.mockRestore();
  }
});
