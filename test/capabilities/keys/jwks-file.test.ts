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
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { CHILD_LIMIT } from "../../support/child-limit.ts";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { createRemote, STALE } from "../../support/remote-keys.ts";
import { issuesOf } from "../../support/resource-servers.ts";
import { itPlays } from "./script.ts";

const setOf = (...keys: readonly unknown[]) => JSON.stringify({ keys });
const secret = (letter: string) => ({
  kty: "oct",
  kid: "a",
  k: Buffer.alloc(32, letter).toString("base64url"),
});
const elliptic = createIssuer({ algorithm: "ES256" }).publicJwk;

const FIRST = setOf(first.publicJwk);
const SECOND = setOf(second.publicJwk);
const BOTH = setOf(first.publicJwk, second.publicJwk);
const TOO_LARGE = `${" ".repeat(2 ** 19)}${SECOND}`;

const directory = mkdtempSync(join(tmpdir(), "jwks-"));
const file = join(directory, "jwks.json");
const keys = { jwksFile: file };
let writes = 0;

afterAll(() => rmSync(directory, { recursive: true, force: true }));
beforeEach(() => write(FIRST));
afterEach(() => rmSync(file, { force: true }));

/** Writes the file with a later modification time than before, because the file system's clock may be coarse. */
function write(text: string): void {
  writeFileSync(file, text);
  writes += 1;
  utimesSync(file, 1_600_000_000, 1_600_000_000 + writes);
}
const writing = (text: string) => () => write(text);
const remove = () => rmSync(file);

/** Replaces the file at once, without a moment when there is none. */
function replaceBy(create: (path: string) => void): void {
  const next = join(directory, "next");
  create(next);
  renameSync(next, file);
}
const makePipe = (path: string) => void execFileSync("mkfifo", [path], CHILD_LIMIT);

let recover = (): void => undefined;

/** Replaces what reads the key file, and no other file. */
function readFileWith(read: (readFileSync: () => Buffer) => Buffer): void {
  const { readFileSync } = fs;
  const reading = vi.spyOn(fs, "readFileSync").mockImplementation(((
    ...parameters: Parameters<typeof readFileSync>
  ) => {
    const readReally = () => readFileSync(...parameters) as Buffer;
    return parameters[0] === file ? read(readReally) : readReally();
  }) as typeof readFileSync);
  syncBuiltinESMExports();
  recover = () => {
    reading.mockRestore();
    syncBuiltinESMExports();
  };
  onTestFinished(recover);
}
/** Fails as if no descriptor were free. */
const exhaust = () =>
  readFileWith(() => {
    throw Object.assign(new Error("canary"), { code: "EMFILE" });
  });

describe("a JWK Set in a file", () => {
  itPlays("is read again with the next token after a write, once for concurrent tokens", { keys }, [
    [0, "second", "key"],
    [0, "first", "accepted"],
    [0, writing(BOTH), ""],
    [0, "20 second", "fetched rotated accepted"],
    [0, writing(SECOND), ""],
    [0, "first", "fetched rotated key"],
    [0, writing(`\uFEFF${FIRST}`), ""],
    [0, "first", "fetched rotated accepted"],
  ]);

  itPlays("is read again when an older file of the same size replaces it", { keys }, [
    [0, "first", "accepted"],
    [
      0,
      () =>
        replaceBy((path) => {
          writeFileSync(path, FIRST.replace('"first"', '"other"'));
          utimesSync(path, 1_000_000_000, 1_000_000_000);
        }),
      "",
    ],
    [0, "first", "fetched rotated key"],
  ]);

  it("is read again when a symbolic link in its path changes, as with mounted secrets", async () => {
    for (const [name, set] of Object.entries({ v1: FIRST, v2: SECOND })) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, "jwks.json"), set);
    }
    symlinkSync("v1", join(directory, "current"));
    const { verdict } = createRemote({ jwksFile: join(directory, "current", "jwks.json") });
    expect(await verdict(await first.token())).toBe("accepted");
    symlinkSync("v2", join(directory, "next"));
    renameSync(join(directory, "next"), join(directory, "current"));
    expect(await verdict(await first.token())).toBe("key");
    expect(await verdict(await second.token())).toBe("accepted");
  });

  const broken: readonly (readonly [string, () => void, string])[] = [
    ["is empty", writing(""), "The file doesn't contain a JWK Set."],
    ["is cut short", writing(FIRST.slice(0, -20)), "The file doesn't contain a JWK Set."],
    ["is a key", writing(JSON.stringify(first.publicJwk)), "The file doesn't contain a JWK Set."],
    ["is other JSON", writing('"keys"'), "The file doesn't contain a JWK Set."],
    ["has no key", writing(setOf()), "FILE has no usable keys. There is no key for RS256."],
    ["has no key for RS256", writing(setOf(elliptic)), "FILE has no usable keys. There is no key for RS256."],
    ["is too large", writing(TOO_LARGE), "The file is larger than 524288 bytes."],
    ["is deleted", remove, "`FILE` can't be read."],
    // A pipe would block. The other file is a regular one that nobody can read on Linux, not even root.
    ...(process.platform === "win32"
      ? []
      : [["is a pipe", () => replaceBy(makePipe), "`FILE` can't be read."] as const]),
    ...(process.platform === "linux"
      ? [
          [
            "is unreadable",
            () => replaceBy((path) => symlinkSync("/proc/self/mem", path)),
            "`FILE` can't be read.",
          ] as const,
        ]
      : []),
  ];
  for (const [name, breakFile, message] of broken)
    itPlays(`keeps its previous keys in use for staleMs when the new file ${name}`, { keys }, [
      [0, "first", "accepted"],
      [86_400_000, breakFile, ""],
      [86_400_000, "first", "failed stale accepted"],
      [86_400_000, "second", "unavailable"],
      [86_400_000, "first", "accepted"],
      [86_400_000, "ready", `failed Keys are unavailable. ${message.replace("FILE", file)}`],
      [86_400_000 + STALE - 1, "first", "failed accepted"],
      [86_400_000 + STALE, "first", "stale_ended unavailable"],
      [86_400_000 + STALE, () => replaceBy((path) => writeFileSync(path, SECOND)), ""],
      [86_400_000 + STALE, "second", "fetched rotated accepted"],
    ]);

  itPlays("follows the staleMs option", { keys: { ...keys, staleMs: 1_000 } }, [
    [0, remove, ""],
    [0, "first", "failed stale accepted"],
    [999, "first", "accepted"],
    [1_000, "first", "stale_ended failed unavailable"],
  ]);

  itPlays("withdraws all keys with a staleMs of 0 when it is deleted", { keys: { ...keys, staleMs: 0 } }, [
    [0, "first", "accepted"],
    [0, remove, ""],
    [0, "first", "failed unavailable"],
  ]);

  itPlays(
    "is read again with a token a second after it could not be read, then after two, four and five",
    { keys },
    [
      [0, exhaust, ""],
      [0, writing(SECOND), ""],
      [0, "second", "failed stale unavailable"],
      [999, "second", "unavailable"],
      [1_000, "second", "failed unavailable"],
      [3_000, "second", "failed unavailable"],
      [7_000, "second", "failed unavailable"],
      [11_999, "second", "unavailable"],
      [12_000, () => recover(), ""],
      [12_000, "second", "fetched stale_ended rotated accepted"],
      [12_000, "first", "key"],
      [12_000, "count timers", "0 timers"],
    ],
  );

  itPlays("is read again without a token after it could not be read", { keys }, [
    [0, exhaust, ""],
    [0, writing(SECOND), ""],
    [0, "first", "failed stale accepted"],
    [0, () => recover(), ""],
    [999, "wait", ""],
    [1_000, "wait", "fetched stale_ended rotated"],
    [1_000, "count timers", "0 timers"],
  ]);

  itPlays("reports every change of a broken file once, and a private key, which it ignores", { keys }, [
    [0, writing("{"), ""],
    [0, "first", "failed stale accepted"],
    [0, "first", "accepted"],
    [0, writing("["), ""],
    [0, "first", "failed accepted"],
    [0, writing(setOf(first.publicJwk, second.privateKey.export({ format: "jwk" }))), ""],
    [0, "second", "fetched stale_ended failed key"],
    [0, "first", "accepted"],
  ]);

  itPlays("keeps working after the server is closed", { keys }, [
    [0, "close", ""],
    [0, "first", "accepted"],
    [0, writing(SECOND), ""],
    [0, "first", "fetched rotated key"],
  ]);

  it("rejects a key that is withdrawn while the file is read", async () => {
    const { verdict } = createRemote(keys);
    write(BOTH);
    let reads = 0;
    readFileWith((readReally) => {
      const bytes = readReally();
      reads += 1;
      if (reads === 1) write(SECOND);
      return bytes;
    });
    expect(await verdict(await first.token())).toBe("key");
    expect(reads).toBe(2);
  });

  it("is used as before when a new file has two secrets of one kid", async () => {
    write(setOf(secret("a")));
    const { server, events } = createRemote(keys, { algorithm: "HS256" });
    write(setOf(secret("a"), secret("b")));
    const message = `${file} has no usable keys. keys[1] repeats a \`kid\`. The set contains two secrets with the same \`kid\`.`;
    await expect(server.ready()).rejects.toThrow(message);
    expect(events).toMatchObject([{ type: "failed", source: file, message }]);
    expect(server.keys).toMatchObject([{ state: "stale", keyIds: ["a"] }]);
  });
});

describe("a JWK Set in a file, at construction", () => {
  const issuesWith = (jwksFile: string, options: object = {}) =>
    issuesOf({ serviceId: "agents-prod", keys: { jwksFile }, ...options });

  it.each<readonly [string, string]>([
    ["is missing", join(directory, "missing.json")],
    ["is a directory", directory],
    ["has a NUL in its name", `${directory}/a\0b`],
  ])("rejects a path that %s", (_, path) => {
    const hint = expect.stringContaining("permissions of the file") as string;
    expect(issuesWith(path)).toMatchObject([
      { code: "key_file_unreadable", path: ["keys", "jwksFile"], hint },
    ]);
  });

  it.runIf(process.platform !== "win32")("rejects a pipe, which would block", () => {
    replaceBy(makePipe);
    expect(issuesWith(file)).toMatchObject([{ code: "key_file_unreadable" }]);
  });

  const privateJwk = first.privateKey.export({ format: "jwk" });
  it.each<readonly [string, string, object, string, readonly unknown[]]>([
    ["no JWK Set", "{}", {}, "key_invalid", []],
    ["too many bytes", TOO_LARGE, {}, "key_invalid", []],
    ["no usable key", setOf(elliptic), {}, "key_unusable", ["keys"]],
    ["a private key", setOf(first.publicJwk, privateJwk), {}, "key_private", ["keys", 1]],
    [
      "two secrets of one kid",
      setOf(secret("a"), secret("b")),
      { algorithm: "HS256" },
      "key_invalid",
      ["keys"],
    ],
  ])("rejects a file with %s", (_, text, options, code, path) => {
    write(text);
    expect(issuesWith(file, options)).toMatchObject([{ code, path: ["keys", "jwksFile", ...path] }]);
  });

  it("ignores keys for other algorithms, entries that are not keys, and a byte order mark", async () => {
    write(
      `\uFEFF${setOf(null, "a", 5, [], {}, { kty: 5 }, { kty: "RSA", kid: 7 }, elliptic, first.publicJwk)}`,
    );
    expect(await createRemote(keys).verdict(await first.token())).toBe("accepted");
  });
});
