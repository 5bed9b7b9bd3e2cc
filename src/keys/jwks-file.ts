import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { attempt, type ConfigurationIssue, type Report } from "../errors.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type KeyEvent } from "./key-event.ts";
import { importJwks, parseJwks, requireJwks } from "./jwks.ts";
import { type KeyUse } from "./key-use.ts";
import { importMaterial, type KeyResolver, selectKeys, type VerificationKey } from "./verification-key.ts";

/**
 * The keys of a JWK Set in a file. Each look-up compares the file's state with the one that was read, so that a key
 * withdrawn from the file is refused with the next token. A file that cannot be read, or holds no JWK Set, leaves the old
 * keys in place; a set without keys withdraws them all.
 */
export function createJwksFileResolver(
  file: string,
  { algorithms, issuer, ...use }: KeyUse,
  report: Report,
): KeyResolver | undefined {
  const path = [...use.path, "jwksFile"];
  const tell = (event: Pick<KeyEvent, "type" | "message">) =>
    use.onKeyEvent({ ...event, source: file, ...(issuer !== undefined && { issuer }) });
  let state = stateOf(file);
  const first = state === MISSING ? undefined : attempt(() => readFileSync(file, "utf8"));
  const set = first === undefined ? undefined : parseJwks(first);
  if (!set) {
    report(first === undefined ? unreadable(path, file) : notASet(path));
    return undefined;
  }
  const required = requireJwks(set, algorithms, path, report);
  if (!required) return undefined;
  let keys = required;
  let reading: Promise<void> | undefined;

  const reload = async (next: string) => {
    const text = next === MISSING ? undefined : await readFile(file, "utf8").catch(() => undefined);
    const changed = text === undefined ? undefined : parseJwks(text);
    state = next;
    if (!changed) {
      const { message } = text === undefined ? unreadable(path, file) : notASet(path);
      tell({ type: "failed", message });
      return;
    }
    const imported = importJwks(changed, algorithms);
    keys = imported.keys;
    tell({ type: "rotated" });
    if (imported.leaks.length > 0) {
      tell({ type: "failed", message: "A private key in the set was left out." });
    }
  };

  const refresh = async (): Promise<readonly VerificationKey[]> => {
    // Again after the read: the file may have changed while it was read, and a withdrawn key must not outlive that.
    for (let turn = 0; turn < MAX_READS; turn += 1) {
      const next = stateOf(file);
      if (next === state) return keys;
      await (reading ??= reload(next).finally(() => (reading = undefined)));
    }
    throw new Error("The key file changes faster than it can be read.");
  };

  return {
    find: async (query) => selectKeys(await withinLimit(refresh(), file), query),
    holds: (key) => stateOf(file) === state && keys.includes(key),
    ready: async () => importMaterial(await withinLimit(refresh(), file)),
    close: () => undefined,
  };
}

const MAX_READS = 10;

const MISSING = "missing";

/**
 * Changes with every write and every replacement of the file, symbolic links included. Whatever is no regular file counts
 * as missing: reading a pipe ends when somebody writes to it, if ever.
 */
function stateOf(file: string): string {
  const stats = attempt(() => statSync(file, { bigint: true }));
  if (!stats?.isFile()) return MISSING;
  return [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino].join(" ");
}

const notASet = (path: readonly (string | number)[]): ConfigurationIssue => ({
  code: "key_invalid",
  path,
  message: "names a file that holds no JWK Set.",
  hint: 'Write { "keys": [...] } as JSON (RFC 7517 section 5).',
});

/** What was given may be a key itself, by mistake: only what ends like the name of a file is quoted. */
const unreadable = (path: readonly (string | number)[], file: string): ConfigurationIssue => ({
  code: "key_file_unreadable",
  path,
  message: /^[\w./\\: -]{1,200}\.[a-z]{1,5}$/.test(file)
    ? `\`${file}\` cannot be read.`
    : "names no file that can be read.",
  hint: "Give the path of a readable file; a relative one counts from the working directory.",
});
