import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { attempt, type Report } from "../errors.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { importJwks, parseJwks, requireJwks } from "./jwks.ts";
import { type KeySourceContext } from "./key-event.ts";
import {
  findRepeatedSecret,
  importMaterial,
  type JsonWebKeySet,
  type KeyMistake,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
} from "./verification-key.ts";

/**
 * The keys of a JWK Set in a file. Each look-up checks whether the file has changed, so that a key withdrawn
 * from the file is rejected with the next token. If the file cannot be read or contains no JWK Set, the
 * previous keys stay in use. A set without keys withdraws all of them.
 */
export function createJwksFileResolver(
  file: string,
  { algorithms, onKeyEvent, ...context }: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const path = [...context.path, "jwksFile"];
  let version = versionOf(file);
  const first = parseFile(file, version === MISSING ? undefined : attempt(() => readFileSync(file, "utf8")));
  if (first.kind === "mistake") {
    report({ ...first.mistake, path });
    return undefined;
  }
  const required = requireJwks(first.set, algorithms, path, report);
  if (!required) return undefined;
  let keys = required;
  let reading: Promise<void> | undefined;

  const read = async (next: string) => {
    const json = next === MISSING ? undefined : await readFile(file, "utf8").catch(() => undefined);
    const parsed = parseFile(file, json);
    version = next;
    if (parsed.kind === "mistake") {
      onKeyEvent({ type: "failed", source: file, message: parsed.mistake.message });
      return;
    }
    const imported = importJwks(parsed.set, algorithms);
    const repeated = findRepeatedSecret(imported.keys);
    if (repeated) {
      onKeyEvent({ type: "failed", source: file, message: `The file ${repeated.message}` });
      return;
    }
    keys = imported.keys;
    onKeyEvent({ type: "rotated", source: file });
    if (imported.leaks.length > 0)
      onKeyEvent({ type: "failed", source: file, message: "A private key in the file is ignored." });
  };

  const currentKeys = async (): Promise<readonly VerificationKey[]> => {
    // Checks the file again after each read: a key that is withdrawn during the read must not stay in use.
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const next = versionOf(file);
      if (next === version) return keys;
      await withinLimit((reading ??= read(next).finally(() => (reading = undefined))), file);
    }
    throw new Error("The key file changes faster than it can be read.");
  };

  return {
    find: async (query) => selectKeys(await withinLimit(currentKeys(), file), query),
    holds: (key) => versionOf(file) === version && keys.includes(key),
    ready: async () => importMaterial(await withinLimit(currentKeys(), file)),
    close: () => undefined,
  };
}

const MAX_READS = 10;
const MISSING = "missing";

/**
 * Changes with every write and every replacement of the file, also behind a symbolic link. Anything but a
 * regular file counts as missing, because reading a pipe would block until someone writes to it.
 */
function versionOf(file: string): string {
  const stats = attempt(() => statSync(file, { bigint: true }));
  if (!stats?.isFile()) return MISSING;
  return [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino].join(" ");
}

type ParsedFile =
  | { readonly kind: "set"; readonly set: JsonWebKeySet }
  | { readonly kind: "mistake"; readonly mistake: KeyMistake };

/** `json` is the content of the file, or `undefined` if it cannot be read. */
function parseFile(file: string, json: string | undefined): ParsedFile {
  const set = json === undefined ? undefined : parseJwks(json);
  if (set) return { kind: "set", set };
  return { kind: "mistake", mistake: json === undefined ? unreadable(file) : NO_JWKS };
}

const NO_JWKS: KeyMistake = {
  code: "key_invalid",
  message: "The file does not contain a JWK Set.",
  hint: 'Write { "keys": [...] } as JSON (RFC 7517 section 5).',
};

/** The option may contain a key by mistake, so it is quoted only if it looks like a file name. */
const unreadable = (file: string): KeyMistake => ({
  code: "key_file_unreadable",
  message: /^[\w./\\: -]{1,200}\.[a-z]{1,5}$/.test(file)
    ? `\`${file}\` cannot be read.`
    : "is not the path of a readable file.",
  hint: "Pass the path of a readable file. A relative path starts at the working directory.",
});
