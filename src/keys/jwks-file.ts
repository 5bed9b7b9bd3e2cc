import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { attempt, type ConfigurationIssue, type Report } from "../errors.ts";
import { type Algorithm } from "./algorithm.ts";
import { type KeyEvent } from "./key-event.ts";
import { importJwks, parseJwks } from "./jwks.ts";
import { importMaterial, type KeyResolver, selectKeys, type VerificationKey } from "./verification-key.ts";

/**
 * The keys of a JWK Set in a file. Each look-up compares the file's state with the one that was read, so that a key
 * withdrawn from the file is refused with the next token. A new file that cannot be used leaves the old keys in place.
 */
export function createJwksFileResolver(
  file: string,
  algorithms: readonly Algorithm[],
  path: readonly (string | number)[],
  report: Report,
  onKeyEvent: (event: KeyEvent) => void,
): KeyResolver | undefined {
  const first = attempt(() => ({ state: stateOf(file), text: readFileSync(file, "utf8") }));
  let keys = first && readKeys(first.text, algorithms, path, report);
  if (!first || !keys) {
    if (!first) report(unreadable(path, file));
    return undefined;
  }
  let { state } = first;
  let reading: Promise<void> | undefined;

  const reload = async (next: string) => {
    const issues: ConfigurationIssue[] = [];
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) issues.push(unreadable(path, file));
    const read =
      text === undefined ? undefined : readKeys(text, algorithms, path, (issue) => issues.push(issue));
    state = next;
    keys = read ?? keys;
    onKeyEvent(
      read
        ? { type: "rotated", source: file }
        : { type: "failed", source: file, message: issues.map(({ message }) => message).join(" ") },
    );
  };

  const refresh = async (): Promise<readonly VerificationKey[]> => {
    const next = attempt(() => stateOf(file)) ?? "missing";
    if (next !== state) await (reading ??= reload(next).finally(() => (reading = undefined)));
    return keys ?? [];
  };

  return {
    find: async (query) => selectKeys(await refresh(), query),
    ready: async () => importMaterial(await refresh()),
  };
}

/** Changes with every write and every replacement of the file, symbolic links included. */
function stateOf(file: string): string {
  const { mtimeNs, ctimeNs, size, ino } = statSync(file, { bigint: true });
  return [mtimeNs, ctimeNs, size, ino].join(" ");
}

function readKeys(
  text: string,
  algorithms: readonly Algorithm[],
  path: readonly (string | number)[],
  report: Report,
): readonly VerificationKey[] | undefined {
  const set = parseJwks(text);
  if (set) return importJwks(set, algorithms, path, report);
  report({
    code: "key_invalid",
    path,
    message: "holds no JWK Set.",
    hint: 'Write { "keys": [...] } as JSON (RFC 7517 section 5).',
  });
  return undefined;
}

const unreadable = (path: readonly (string | number)[], file: string): ConfigurationIssue => ({
  code: "key_file_unreadable",
  path,
  message: `${JSON.stringify(file)} cannot be read.`,
  hint: "Give the path of a readable file; a relative one counts from the working directory.",
});
