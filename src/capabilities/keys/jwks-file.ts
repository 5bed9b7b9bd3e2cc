import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { orUndefined, type Report } from "../../core/errors.ts";
import { MAX_BYTES } from "../../core/keys/fetch-json.ts";
import { importJwk } from "../../core/keys/import-key.ts";
import { importerFor, type KeyUse, parseJwks, requireJwks } from "./jwks.ts";
import type { KeySourceContext } from "../../core/keys/key-event.ts";
import type { RemoteTiming } from "./key-age.ts";
import { LoadedKeys } from "./loaded-keys.ts";
import type { JsonWebKeySet, KeyMistake, KeyResolver } from "../../core/keys/verification-key.ts";

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
  context: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const path = [...context.path, "jwksFile"];
  let { version, content } = readKeyFile(file);
  if (content.kind === "mistake") {
    report({ ...content.mistake, path });
    return undefined;
  }
  const importEntry = importerFor(use, importJwk);
  if (!requireJwks(content.set, context.algorithms, path, report, importEntry)) return undefined;

  const isChanged = () => versionOf(statOf(file)) !== version;
  const load = (): JsonWebKeySet => {
    let reads = 0;
    do {
      if (reads === MAX_READS) throw new Error("The key file changes faster than it can be read.");
      reads += 1;
      ({ version, content } = readKeyFile(file));
      // A key that is removed while the file is read must not stay in use.
    } while (isChanged());
    if (content.kind === "mistake") throw new Error(content.mistake.message);
    return content.set;
  };
  return new LoadedKeys(
    { ...TIMING, ...timing, source: file, first: content.set, importEntry, isChanged, load },
    context,
  );
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

type Content =
  | { readonly kind: "set"; readonly set: JsonWebKeySet }
  | { readonly kind: "mistake"; readonly mistake: KeyMistake };

function readKeyFile(file: string): { readonly version: string | undefined; readonly content: Content } {
  const stats = statOf(file);
  return { version: versionOf(stats), content: readContent(file, stats) };
}

function readContent(file: string, stats: BigIntStats | undefined): Content {
  if (stats && stats.size > MAX_BYTES) return { kind: "mistake", mistake: TOO_LARGE };
  const bytes = stats && orUndefined(() => readFileSync(file));
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
