import { execFileSync } from "node:child_process";
import fs, {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import { CHILD_LIMIT } from "../../support/child-limit.ts";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { createRemote, RETRY, STALE } from "../../support/remote-keys.ts";
import { issuesOf, NOW } from "../../support/resource-servers.ts";
import { useOwnTimers } from "../../support/timers.ts";

const setOf = (...keys: readonly object[]) => JSON.stringify({ keys });

let directory: string;
let file: string;
let writes = 0;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "jwks-"));
  file = join(directory, "jwks.json");
  write(setOf(first.publicJwk));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Writes the file with a later modification time than before, because the file system's clock may be coarse. */
function write(text: string, to = file): void {
  writeFileSync(to, text);
  writes += 1;
  utimesSync(to, 1_600_000_000, 1_600_000_000 + writes);
}

function makePipe(): string {
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe], CHILD_LIMIT);
  return pipe;
}

/** Replaces what reads the key file, and no other file. */
function readFileWith(read: (readFileSync: () => Buffer) => Buffer): void {
  const { readFileSync } = fs;
  vi.spyOn(fs, "readFileSync").mockImplementation(((...parameters: Parameters<typeof readFileSync>) => {
    const readReally = () => readFileSync(...parameters) as Buffer;
    return parameters[0] === file ? read(readReally) : readReally();
  }) as typeof readFileSync);
  syncBuiltinESMExports();
}

/** Makes files readable again for a server. */
function recover(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}

describe("a JWK Set in a file", () => {
  it("accepts a new key with the next token after a write", async () => {
    const { verdict, events } = createRemote({ jwksFile: file });
    expect(await verdict(await second.token())).toBe("key");
    write(setOf(first.publicJwk, second.publicJwk));
    expect(await verdict(await second.token())).toBe("accepted");
    expect(await verdict(await first.token())).toBe("accepted");
    expect(events).toMatchObject([
      { type: "fetched", source: file },
      { type: "rotated", source: file },
    ]);
  });

  it("reads the file again when an older file of the same size replaces it", async () => {
    const { verdict } = createRemote({ jwksFile: file });
    const [firstSet, otherSet] = [setOf(first.publicJwk), setOf({ ...second.publicJwk, kid: "other" })];
    expect(otherSet.length).toBe(firstSet.length);
    const next = join(directory, "next.json");
    writeFileSync(next, otherSet);
    utimesSync(next, 1_000_000_000, 1_000_000_000);
    renameSync(next, file);
    expect(await verdict(await first.token())).toBe("key");
    expect(await verdict(await second.token({}, { kid: "other" }))).toBe("accepted");
  });

  it("reads the file again when a symbolic link in its path changes, as with mounted secrets", async () => {
    for (const [name, { publicJwk }] of [["v1", first] as const, ["v2", second] as const]) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, "jwks.json"), setOf(publicJwk));
    }
    symlinkSync("v1", join(directory, "current"));
    const { verdict } = createRemote({ jwksFile: join(directory, "current", "jwks.json") });
    expect(await verdict(await first.token())).toBe("accepted");
    symlinkSync("v2", join(directory, "next"));
    renameSync(join(directory, "next"), join(directory, "current"));
    expect(await verdict(await first.token())).toBe("key");
    expect(await verdict(await second.token())).toBe("accepted");
  });

  it("does not read an unchanged file again", async () => {
    const { verdict, events } = createRemote({ jwksFile: file });
    for (const { token } of [first, first, second]) await verdict(await token());
    expect(events).toEqual([]);
  });

  it("reads the file once for concurrent tokens", async () => {
    const { verdict, types } = createRemote({ jwksFile: file });
    write(setOf(second.publicJwk));
    const tokens = await Promise.all([...Array(20).keys()].map(() => second.token()));
    const verdicts = await Promise.all(tokens.map((token) => verdict(token)));
    expect(new Set(verdicts)).toEqual(new Set(["accepted"]));
    expect(types()).toEqual(["fetched", "rotated"]);
  });

  it.each<readonly [string, string, RegExp]>([
    ["empty", "", /JWK Set/],
    ["cut short", setOf(first.publicJwk).slice(0, -20), /JWK Set/],
    ["not a JWK Set", JSON.stringify(first.publicJwk), /JWK Set/],
    ["other JSON", '"keys"', /JWK Set/],
    ["a set without a key", setOf(), /no usable keys/],
    ["a set for another algorithm", setOf(createIssuer({ algorithm: "ES256" }).publicJwk), /no usable keys/],
    ["a set with only a weak key", setOf({ ...first.publicJwk, e: "AQ" }), /no usable keys/],
    ["a set with only an encryption key", setOf({ ...first.publicJwk, use: "enc" }), /no usable keys/],
    ["too large", `${" ".repeat(2 ** 19)}${setOf(second.publicJwk)}`, /larger than 524288 bytes/],
  ])(
    "keeps the previous keys for staleMs when the new file is %s, and reports it",
    async (_, text, message) => {
      const { server, verdict, pass, events } = createRemote({ jwksFile: file });
      write(text);
      for (let turn = 0; turn < 3; turn += 1) {
        expect(await verdict(await first.token())).toBe("accepted");
        expect(await verdict(await second.token())).toBe("unavailable");
      }
      const failure = { source: file, message: expect.stringMatching(message) as string };
      expect(events).toMatchObject([
        { type: "failed", ...failure },
        { type: "stale", ...failure },
      ]);
      await expect(server.ready()).rejects.toThrow(message);
      pass(STALE);
      expect(await verdict(await first.token())).toBe("unavailable");
      write(setOf(second.publicJwk));
      expect(await verdict(await second.token())).toBe("accepted");
      expect(await verdict(await first.token())).toBe("key");
    },
  );

  it("counts staleMs from the first failure, also after a long time without requests", async () => {
    const { verdict, pass } = createRemote({ jwksFile: file, staleMs: 60_000 });
    expect(await verdict(await first.token())).toBe("accepted");
    pass(86_400_000);
    rmSync(file);
    expect(await verdict(await first.token())).toBe("accepted");
    for (let turn = 0; turn < 11; turn += 1) {
      pass(5_000);
      expect(await verdict(await first.token())).toBe("accepted");
    }
    pass(5_000);
    expect(await verdict(await first.token())).toBe("unavailable");
  });

  it("reads a file with a byte order mark", async () => {
    write(`\uFEFF${setOf(first.publicJwk)}`);
    const { verdict } = createRemote({ jwksFile: file });
    expect(await verdict(await first.token())).toBe("accepted");
    write(`\uFEFF${setOf(second.publicJwk)}`);
    expect(await verdict(await second.token())).toBe("accepted");
  });

  describe("when no descriptor is free while a new file is read", () => {
    const exhaust = () =>
      readFileWith(() => {
        throw Object.assign(new Error("canary"), { code: "EMFILE" });
      });
    afterEach(recover);

    it("reads the file again with a token after five seconds, and reports each failure", async () => {
      const { server, verdict, pass, types } = createRemote({ jwksFile: file });
      exhaust();
      write(setOf(second.publicJwk));
      for (let turn = 0; turn < 3; turn += 1) {
        expect(await verdict(await second.token())).toBe("unavailable");
        expect(await verdict(await first.token())).toBe("accepted");
      }
      expect(types()).toEqual(["failed", "stale"]);
      pass(5_000);
      expect(await verdict(await second.token())).toBe("unavailable");
      expect(types()).toEqual(["failed", "stale", "failed"]);
      recover();
      pass(5_000);
      expect(await verdict(await second.token())).toBe("accepted");
      expect(await verdict(await first.token())).toBe("key");
      await server.ready();
    });

    it("reads the file again without a token", async () => {
      const timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      await timers.run(async () => {
        const { server, verdict, whenEmitted } = createRemote({ jwksFile: file });
        exhaust();
        write(setOf(second.publicJwk));
        await expect(server.ready()).rejects.toThrow("can't be read");
        expect(timers.count()).toBe(1);
        recover();
        const rotated = whenEmitted("rotated");
        await vi.advanceTimersByTimeAsync(RETRY);
        await rotated;
        expect(await verdict(await first.token())).toBe("key");
        expect(timers.count()).toBe(0);
      });
    });
  });

  it("ignores and reports a private key in the new file", async () => {
    const { verdict, events } = createRemote({ jwksFile: file });
    write(setOf(first.publicJwk, { ...second.privateKey.export({ format: "jwk" }), kid: "second" }));
    expect(await verdict(await second.token())).toBe("key");
    expect(await verdict(await first.token())).toBe("accepted");
    expect(events).toMatchObject([
      { type: "fetched", source: file },
      { type: "failed", source: file, message: "keys[1] is a private key." },
    ]);
  });

  it("keeps the previous keys when the file is deleted, reports it once, and reads the file when it is back", async () => {
    const { verdict, types } = createRemote({ jwksFile: file });
    rmSync(file);
    for (let turn = 0; turn < 3; turn += 1) expect(await verdict(await first.token())).toBe("accepted");
    expect(types()).toEqual(["failed", "stale"]);
    write(setOf(second.publicJwk));
    expect(await verdict(await first.token())).toBe("key");
    expect(await verdict(await second.token())).toBe("accepted");
    expect(types().slice(2)).toEqual(["fetched", "stale_ended", "rotated"]);
  });

  it.runIf(process.platform === "linux").each<readonly [string, () => string]>([
    // On Linux, this is a regular file that nobody can read, not even root.
    ["an unreadable file", () => "/proc/self/mem"],
    ["a pipe, which would block", makePipe],
  ])("keeps the previous keys when %s replaces it", async (_, target) => {
    const { server, verdict, events } = createRemote({ jwksFile: file });
    symlinkSync(target(), join(directory, "next"));
    renameSync(join(directory, "next"), file);
    for (let turn = 0; turn < 3; turn += 1) expect(await verdict(await first.token())).toBe("accepted");
    const message = `\`${file}\` can't be read.`;
    expect(events).toMatchObject([
      { type: "failed", message },
      { type: "stale", message },
    ]);
    await expect(server.ready()).rejects.toThrow("can't be read");
    rmSync(file);
    write(setOf(second.publicJwk));
    expect(await verdict(await second.token())).toBe("accepted");
  });

  it("rejects a key that is withdrawn while the file is read", async () => {
    const { verdict } = createRemote({ jwksFile: file });
    write(setOf(first.publicJwk, second.publicJwk));
    let reads = 0;
    readFileWith((readReally) => {
      const bytes = readReally();
      reads += 1;
      if (reads === 1) write(setOf(second.publicJwk));
      return bytes;
    });
    onTestFinished(recover);
    expect(await verdict(await first.token())).toBe("key");
    expect(reads).toBe(2);
  });

  it("keeps working after the server is closed", async () => {
    const { server, verdict } = createRemote({ jwksFile: file });
    await server.close();
    expect(await verdict(await first.token())).toBe("accepted");
    write(setOf(second.publicJwk));
    expect(await verdict(await first.token())).toBe("key");
  });

  it("reports every change of a broken file once", async () => {
    const { verdict, types } = createRemote({ jwksFile: file });
    for (const text of ["{", "[", setOf(second.publicJwk), "{"]) {
      write(text);
      await verdict(await second.token());
      await verdict(await second.token());
    }
    const others = types().filter((type) => !type.startsWith("stale"));
    expect(others).toEqual(["failed", "failed", "fetched", "rotated", "failed"]);
    expect(await verdict(await second.token())).toBe("accepted");
  });
});

/** A secret of this repeated letter. */
const secret = (letter: string) => ({
  kty: "oct",
  kid: "first",
  k: Buffer.alloc(32, letter).toString("base64url"),
});

it("keeps the previous keys when the new file has two secrets of one kid", async () => {
  const tokenOf = (letter: string) =>
    createTestIssuer({
      algorithm: "HS256",
      audience: "agents-prod",
      signingKey: letter.repeat(32),
      kid: "first",
      now: () => NOW * 1000,
    }).token();
  write(setOf(secret("a")));
  const { verdict, events } = createRemote({ jwksFile: file }, { algorithm: "HS256" });
  write(setOf(secret("a"), secret("b")));
  expect(await verdict(await tokenOf("b"))).toBe("signature");
  expect(await verdict(await tokenOf("a"))).toBe("accepted");
  const message = expect.stringContaining("two secrets with the same `kid`") as string;
  expect(events).toMatchObject([{ type: "failed", source: file, message }, { type: "stale" }]);
});

describe("a JWK Set in a file, at construction", () => {
  const issuesWith = (jwksFile: string, options: object = {}) =>
    issuesOf({ serviceId: "agents-prod", keys: { jwksFile }, ...options });

  it.each<readonly [string, () => string]>([
    ["is missing", () => join(directory, "missing.json")],
    ["is a directory", () => directory],
    ["has a NUL in its name", () => `${directory}/a\0b`],
    ...(process.platform === "win32" ? [] : [["is a pipe", makePipe] as const]),
  ])("rejects a path that %s", (_, path) => {
    expect(issuesWith(path())).toMatchObject([
      {
        code: "key_file_unreadable",
        path: ["keys", "jwksFile"],
        hint: expect.stringContaining("permissions of the file") as string,
      },
    ]);
  });

  it.each<readonly [string, () => string, object]>([
    [
      "without a JWK Set",
      () => "{}",
      { code: "key_invalid", message: "The file doesn't contain a JWK Set." },
    ],
    [
      "that is too large",
      () => `${" ".repeat(2 ** 19)}${setOf(first.publicJwk)}`,
      { code: "key_invalid", message: "The file is larger than 524288 bytes." },
    ],
    [
      "without a usable key",
      () => setOf(createIssuer({ algorithm: "ES256" }).publicJwk),
      { code: "key_unusable", path: ["keys", "jwksFile", "keys"] },
    ],
    [
      "with a private key",
      () => setOf(first.publicJwk, first.privateKey.export({ format: "jwk" })),
      { code: "key_private", path: ["keys", "jwksFile", "keys", 1] },
    ],
  ])("rejects a file %s", (_, text, issue) => {
    write(text());
    expect(issuesWith(file)).toMatchObject([{ path: ["keys", "jwksFile"], ...issue }]);
  });

  it("rejects a file with two secrets of one kid", () => {
    write(setOf(secret("a"), secret("b")));
    expect(issuesWith(file, { algorithm: "HS256" })).toMatchObject([
      { code: "key_invalid", path: ["keys", "jwksFile", "keys"] },
    ]);
  });

  it("ignores keys for other algorithms, and entries that are not keys (RFC 7517 section 5)", async () => {
    const entries = [null, "a", 5, [], {}, { kty: 5 }, { kty: "RSA", kid: 7 }] as readonly object[];
    write(setOf(...entries, createIssuer({ algorithm: "ES256" }).publicJwk, first.publicJwk));
    const { verdict } = createRemote({ jwksFile: file });
    expect(await verdict(await first.token())).toBe("accepted");
  });
});
