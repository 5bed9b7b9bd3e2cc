import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type KeyEvent, type ResourceServerOptions } from "scopegate";
import { createIssuer } from "../support/issuer.ts";
import { configurationErrorOf, createServer, issuesOf, verdictOf } from "../support/resource-servers.ts";

const first = createIssuer({ kid: "first" });
const second = createIssuer({ kid: "second" });

const setOf = (...keys: readonly object[]) => JSON.stringify({ keys });

let directory: string;
let file: string;
let events: KeyEvent[];
let writes = 0;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "jwks-"));
  file = join(directory, "jwks.json");
  events = [];
  write(setOf(first.publicJwk));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Writes the file as one that is newer than every one before it, however coarse the clock of the file system is. */
function write(text: string, to = file): void {
  writeFileSync(to, text);
  writes += 1;
  utimesSync(to, 1_600_000_000, 1_600_000_000 + writes);
}

const create = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({ keys: { jwksFile: file }, onKeyEvent: (event) => events.push(event), ...options });

describe("a JWK Set in a file", () => {
  it("verifies with its keys", async () => {
    const server = create();
    await server.ready();
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(await verdictOf(server, await second.token())).toBe("key");
    expect(events).toEqual([]);
  });

  it("is read again when it is written: a new key is accepted with the next token", async () => {
    const server = create();
    expect(await verdictOf(server, await second.token())).toBe("key");
    write(setOf(first.publicJwk, second.publicJwk));
    expect(await verdictOf(server, await second.token())).toBe("accepted");
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(events).toEqual([{ type: "rotated", source: file }]);
  });

  it("refuses a withdrawn key with the very next token", async () => {
    const server = create();
    const token = await first.token();
    expect(await verdictOf(server, token)).toBe("accepted");
    write(setOf(second.publicJwk));
    expect(await verdictOf(server, token)).toBe("key");
    expect(await verdictOf(server, await first.token({}, { kid: undefined }))).toBe("signature");
  });

  it("is read again when another file takes its place", async () => {
    const server = create();
    write(setOf(second.publicJwk), join(directory, "next.json"));
    renameSync(join(directory, "next.json"), file);
    expect(await verdictOf(server, await first.token())).toBe("key");
    expect(await verdictOf(server, await second.token())).toBe("accepted");
  });

  it("is read again when an older file of the same size takes its place", async () => {
    const server = create();
    const [own, other] = [setOf(first.publicJwk), setOf({ ...second.publicJwk, kid: "other" })];
    expect(other.length).toBe(own.length);
    const next = join(directory, "next.json");
    writeFileSync(next, other);
    utimesSync(next, 1_000_000_000, 1_000_000_000);
    renameSync(next, file);
    expect(await verdictOf(server, await first.token())).toBe("key");
    expect(await verdictOf(server, await second.token({}, { kid: "other" }))).toBe("accepted");
  });

  it("is read again when a symbolic link on the way points elsewhere, as mounted secrets do", async () => {
    for (const [name, { publicJwk }] of [["v1", first] as const, ["v2", second] as const]) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, "jwks.json"), setOf(publicJwk));
    }
    symlinkSync("v1", join(directory, "current"));
    const server = createServer({ keys: { jwksFile: join(directory, "current", "jwks.json") } });
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    symlinkSync("v2", join(directory, "next"));
    renameSync(join(directory, "next"), join(directory, "current"));
    expect(await verdictOf(server, await first.token())).toBe("key");
    expect(await verdictOf(server, await second.token())).toBe("accepted");
  });

  it("is not read again while it stays the same", async () => {
    const server = create();
    for (const { token } of [first, first, second]) await verdictOf(server, await token());
    expect(events).toEqual([]);
  });

  it("is read once for many tokens that arrive together", async () => {
    const server = create();
    write(setOf(second.publicJwk));
    const tokens = await Promise.all([...Array(20).keys()].map(() => second.token()));
    const verdicts = await Promise.all(tokens.map((token) => verdictOf(server, token)));
    expect(new Set(verdicts)).toEqual(new Set(["accepted"]));
    expect(events).toEqual([{ type: "rotated", source: file }]);
  });

  it.each<readonly [string, string, RegExp]>([
    ["empty", "", /JWK Set/],
    ["cut short", setOf(first.publicJwk).slice(0, -20), /JWK Set/],
    ["no JWK Set", JSON.stringify(first.publicJwk), /JWK Set/],
    ["JSON of something else", '"keys"', /JWK Set/],
  ])("keeps its old keys when the new file is %s, and says so exactly once", async (_, text, message) => {
    const server = create();
    write(text);
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await verdictOf(server, await first.token())).toBe("accepted");
      expect(await verdictOf(server, await second.token())).toBe("key");
    }
    await Promise.all([server.ready(), verdictOf(server, await first.token())]);
    expect(events).toEqual([
      { type: "failed", source: file, message: expect.stringMatching(message) as string },
    ]);
  });

  it.each<readonly [string, string]>([
    ["without a key", setOf()],
    ["without a key that suits", setOf(createIssuer({ algorithm: "ES256" }).publicJwk)],
    ["with a weak key only", setOf({ ...first.publicJwk, e: "AQ" })],
    ["with its keys meant for encryption now", setOf({ ...first.publicJwk, use: "enc" })],
  ])("withdraws its old keys when the new file is a JWK Set %s", async (_, text) => {
    const server = create();
    write(text);
    expect(await verdictOf(server, await first.token())).toBe("key");
    expect(await verdictOf(server, await first.token({}, { kid: undefined }))).toBe("key");
    expect(events).toEqual([{ type: "rotated", source: file }]);
    write(setOf(first.publicJwk));
    expect(await verdictOf(server, await first.token())).toBe("accepted");
  });

  it("leaves out a private key of a new file, and says so: its writer leaked it", async () => {
    const server = create();
    write(setOf(first.publicJwk, { ...second.privateKey.export({ format: "jwk" }), kid: "second" }));
    expect(await verdictOf(server, await second.token())).toBe("key");
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(events).toMatchObject([
      { type: "rotated", source: file },
      { type: "failed", source: file, message: expect.stringContaining("private key") as string },
    ]);
  });

  it("never shows key material when a new file fails", async () => {
    const server = create();
    const leaked = second.privateKey.export({ format: "jwk" });
    write(setOf(leaked));
    await server.ready();
    const shown = JSON.stringify(events);
    for (const secret of [leaked.d, leaked.p, leaked.n]) expect(shown).not.toContain(secret);
    expect(shown).toContain("failed");
  });

  it("keeps its old keys when the file goes, says so once, and takes the one that comes back", async () => {
    const server = create();
    rmSync(file);
    for (let turn = 0; turn < 3; turn += 1)
      expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(events).toMatchObject([{ type: "failed", source: file }]);
    write(setOf(second.publicJwk));
    expect(await verdictOf(server, await first.token())).toBe("key");
    expect(await verdictOf(server, await second.token())).toBe("accepted");
    expect(events).toMatchObject([{ type: "failed" }, { type: "rotated" }]);
  });

  // On Linux this is a regular file to all who ask, and an error to all who read, root included.
  it.runIf(process.platform === "linux")(
    "keeps its old keys when a file that cannot be read takes its place",
    async () => {
      const server = create();
      symlinkSync("/proc/self/mem", join(directory, "next"));
      renameSync(join(directory, "next"), file);
      for (let turn = 0; turn < 3; turn += 1)
        expect(await verdictOf(server, await first.token())).toBe("accepted");
      expect(events).toMatchObject([{ type: "failed", message: `\`${file}\` cannot be read.` }]);
      rmSync(file);
      write(setOf(second.publicJwk));
      expect(await verdictOf(server, await second.token())).toBe("accepted");
    },
  );

  it("tells of whom its keys are, where the options name the issuer", async () => {
    const issuer = "https://issuer.example";
    const server = create({ issuer });
    write(setOf(second.publicJwk));
    expect(await verdictOf(server, await second.token({ iss: issuer }))).toBe("accepted");
    expect(events).toEqual([{ type: "rotated", source: file, issuer }]);
  });

  it("is held open by nobody: a server that was closed goes on as before", async () => {
    const server = create();
    await server.close();
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    write(setOf(second.publicJwk));
    expect(await verdictOf(server, await first.token())).toBe("key");
  });

  it("says every change of a broken file once", async () => {
    const server = create();
    for (const text of ["{", "[", setOf(second.publicJwk), "{"]) {
      write(text);
      await verdictOf(server, await second.token());
      await verdictOf(server, await second.token());
    }
    expect(events.map(({ type }) => type)).toEqual(["failed", "failed", "rotated", "failed"]);
    expect(await verdictOf(server, await second.token())).toBe("accepted");
  });

  it("keeps its old keys when a directory takes its place", async () => {
    const server = create();
    rmSync(file);
    mkdirSync(file);
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(events).toMatchObject([{ type: "failed" }]);
  });

  it("is not harmed by an onKeyEvent that fails", async () => {
    const server = create({
      onKeyEvent: () => {
        throw new Error("The log is full.");
      },
    });
    write(setOf(second.publicJwk));
    expect(await verdictOf(server, await second.token())).toBe("accepted");
  });

  it("becomes a warning of the process when it fails and nobody asked to be told", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const server = createServer({ keys: { jwksFile: file } });
    write("{");
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(warn.mock.calls).toHaveLength(1);
    expect(String(warn.mock.calls[0]?.[0])).toContain(file);
    write(setOf(second.publicJwk));
    expect(await verdictOf(server, await second.token())).toBe("accepted");
    expect(warn.mock.calls).toHaveLength(1);
    warn.mockRestore();
  });

  it("may be indented, and hold members that nobody knows", async () => {
    write(`\n ${JSON.stringify({ keys: [first.publicJwk], issuer: "x" }, null, 2)}\n`);
    expect(await verdictOf(create(), await first.token())).toBe("accepted");
  });
});

describe("a JWK Set in a file, at construction", () => {
  const issuesWith = (jwksFile: string) => issuesOf({ serviceId: "agents-prod", keys: { jwksFile } });

  it.each([
    ["is missing", () => join(directory, "missing.json")],
    ["is a directory", () => directory],
    ["has a NUL in its name", () => `${directory}/a\0b`],
  ])("is refused when it %s", (_, path) => {
    expect(issuesWith(path())).toMatchObject([
      {
        code: "key_file_unreadable",
        path: ["keys", "jwksFile"],
        hint: expect.stringContaining("readable file") as string,
      },
    ]);
  });

  it.each([
    '{"keys":[{"kty":"oct","k":"canary-secret"}]}',
    "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----",
  ])("is refused without quoting what was given instead of its path: %j", (given) => {
    const error = configurationErrorOf({ serviceId: "agents-prod", keys: { jwksFile: given } });
    expect(error.issues).toMatchObject([{ code: "key_file_unreadable", path: ["keys", "jwksFile"] }]);
    expect(`${error.message} ${JSON.stringify(error.issues)}`).not.toContain("canary");
  });

  it("is refused when it holds no JWK Set", () => {
    write("{}");
    expect(issuesWith(file)).toMatchObject([{ code: "key_invalid", path: ["keys", "jwksFile"] }]);
  });

  it("is refused when none of its keys can be used", () => {
    write(setOf(createIssuer({ algorithm: "ES256" }).publicJwk));
    expect(issuesWith(file)).toMatchObject([{ code: "key_unusable", path: ["keys", "jwksFile", "keys"] }]);
  });

  it("is refused when it holds a private key", () => {
    write(setOf(first.publicJwk, first.privateKey.export({ format: "jwk" })));
    expect(issuesWith(file)).toMatchObject([{ code: "key_private", path: ["keys", "jwksFile", "keys", 1] }]);
  });

  it("leaves out the keys that do not suit", async () => {
    write(setOf(createIssuer({ algorithm: "ES256" }).publicJwk, first.publicJwk));
    expect(await verdictOf(create(), await first.token())).toBe("accepted");
  });
});
