import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { orUndefined, type Report } from "../errors.ts";
import { readClock } from "../runtime/clock.ts";
import { importJwk } from "./import-key.ts";
import {
  importerFor,
  importLoadedJwks,
  type KeyUse,
  type LoadedJwks,
  MAX_BYTES,
  parseJwks,
  requireJwks,
} from "./jwks.ts";
import type { KeySourceContext } from "./key-event.ts";
import type { RemoteTiming } from "./key-age.ts";
import { LoadedKeys } from "./loaded-keys.ts";
import type { JsonWebKeySet, KeyMistake, KeyResolver } from "./verification-key.ts";

/** The path of a file that contains a JWK Set of at most 512 KiB. The file is read again when it changes. */
export interface JwksFileSource extends KeyUse {
  /** The path. A relative path starts at the working directory. */
  readonly jwksFile: string;
  /**
   * How much longer the last good keys are used, in milliseconds, while the file can't be read or contains no
   * usable key. Default: `3_600_000`, one hour.
   */
  readonly staleMs?: number;
}

/** `cooldownMs`: how often a file that can't be read is tried again. */
const TIMING: RemoteTiming = { timeoutMs: 5_000, cooldownMs: 5_000, maxAgeMs: Infinity, staleMs: 3_600_000 };

/**
 * Creates the resolver of a JWK Set in a file. Each lookup checks whether the file has changed, so that a key
 * that is removed from the file is rejected with the next token.
 */
export function createJwksFileResolver(
  { jwksFile: file, use, ...timing }: JwksFileSource,
  { algorithms, now, onKeyEvent, ...context }: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const path = [...context.path, "jwksFile"];
  const stats = statOf(file);
  let version = versionOf(stats);
  const content = isReadable(stats) ? orUndefined(() => readFileSync(file)) : undefined;
  const parsed = parseFile(file, stats, content);
  if (parsed.kind === "mistake") {
    report({ ...parsed.mistake, path });
    return undefined;
  }
  const importEntry = importerFor(use, importJwk);
  if (!requireJwks(parsed.set, algorithms, path, report, importEntry)) return undefined;
  const importSet = (set: JsonWebKeySet, keysInUse: LoadedJwks["keys"]) =>
    importLoadedJwks(set, algorithms, keysInUse, importEntry);

  return new LoadedKeys({
    ...TIMING,
    ...timing,
    source: file,
    first: importSet(parsed.set, new Map()),
    now: () => readClock(now).getTime(),
    emit: onKeyEvent,
    isChanged: () => versionOf(statOf(file)) !== version,
    load: async (keysInUse) => {
      for (let reads = 0; reads < MAX_READS; reads += 1) {
        const before = statOf(file);
        const bytes = isReadable(before) ? await readFile(file).catch(() => undefined) : undefined;
        // A key that is removed while the file is read must not stay in use.
        if (versionOf(statOf(file)) !== versionOf(before)) continue;
        version = versionOf(before);
        const fileContent = parseFile(file, before, bytes);
        if (fileContent.kind === "mistake") throw new Error(fileContent.mistake.message);
        return importSet(fileContent.set, keysInUse);
      }
      throw new Error("The key file changes faster than it can be read.");
    },
  });
}

const MAX_READS = 10;

/** Returns `undefined` for anything but a regular file: reading a pipe would block until it's written to. */
function statOf(file: string): BigIntStats | undefined {
  const stats = orUndefined(() => statSync(file, { bigint: true }));
  return stats?.isFile() ? stats : undefined;
}

/** Returns a value that changes whenever the file is written or replaced, even behind a link. */
const versionOf = (stats: BigIntStats | undefined): string | undefined =>
  stats && [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino].join(" ");

const isReadable = (stats: BigIntStats | undefined): boolean =>
  stats !== undefined && stats.size <= MAX_BYTES;

type ParsedFile =
  | { readonly kind: "set"; readonly set: JsonWebKeySet }
  | { readonly kind: "mistake"; readonly mistake: KeyMistake };

/** `bytes` is the content of the file, or `undefined` if it can't be read. */
function parseFile(file: string, stats: BigIntStats | undefined, bytes: Buffer | undefined): ParsedFile {
  if (stats && !isReadable(stats)) return { kind: "mistake", mistake: TOO_LARGE };
  if (!bytes) return { kind: "mistake", mistake: unreadable(file) };
  const set = parseJwks(bytes);
  return set ? { kind: "set", set } : { kind: "mistake", mistake: NO_JWKS };
}

const TOO_LARGE: KeyMistake = {
  code: "key_invalid",
  message: `The file is larger than ${MAX_BYTES} bytes.`,
  hint: "Pass the path of a JWK Set (RFC 7517 section 5).",
};

const NO_JWKS: KeyMistake = {
  code: "key_invalid",
  message: "The file doesn't contain a JWK Set.",
  hint: 'Write { "keys": [...] } as JSON (RFC 7517 section 5).',
};

/** The option may contain a key by mistake, so it's quoted only if it looks like a file name. */
const unreadable = (file: string): KeyMistake => ({
  code: "key_file_unreadable",
  message: /^[\w./\\: -]{1,200}\.[a-z]{1,5}$/.test(file)
    ? `\`${file}\` can't be read.`
    : "isn't the path of a readable file.",
  hint: "Check the path and the permissions of the file. A relative path starts at the working directory.",
});
