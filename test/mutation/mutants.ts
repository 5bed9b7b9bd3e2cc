import { Instrumenter } from "@stryker-mutator/instrumenter";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A small change of one source file. */
export interface Mutant {
  /** Hash of the file and the change. It stays the same while the lines around the change are edited. */
  readonly id: string;
  /** Path below the root of the repository. */
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
}

const NO_LOGGER = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
};

/** All mutants of the source files in `folders`. */
export async function findMutants(root: string, folders: readonly string[]): Promise<readonly Mutant[]> {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { encoding: "utf8", recursive: true })
      .filter((path) => path.endsWith(".ts"))
      .sort()
      .map((path) => join(folder, path)),
  );
  const contents = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
  const { mutants } = await new Instrumenter(NO_LOGGER).instrument(
    Array.from(contents, ([name, content]) => ({ name, content, mutate: true })),
    { plugins: null, excludedMutations: [], ignorers: [] },
  );
  const seen = new Map<string, number>();
  return mutants.map(({ fileName: file, location, mutatorName, replacement }) => {
    const lines = (contents.get(file) ?? "").split("\n");
    const offsetOf = ({ line, column }: { line: number; column: number }): number =>
      lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, column);
    const [start, end] = [offsetOf(location.start), offsetOf(location.end)];
    const original = lines.join("\n").slice(start, end);
    const change = JSON.stringify([file, original, replacement]);
    const place = seen.get(change) ?? 0;
    seen.set(change, place + 1);
    const id = createHash("sha256").update(`${change}${place}`).digest("hex").slice(0, 16);
    const isStatement = mutatorName === "BlockStatement" || /^(case|default)\b/.test(original);
    return {
      ...{ id, file, line: location.start.line + 1, start, end, original },
      // An operator of lower precedence would change what surrounds the expression.
      replacement: isStatement ? replacement : `(${replacement})`,
    };
  });
}

/** One in `every` mutants, always the same ones for a seed. */
export function sampleMutants(mutants: readonly Mutant[], seed: number, every: number): readonly Mutant[] {
  return mutants.filter(({ id }) => {
    const hash = createHash("sha256").update(`${seed}:${id}`).digest();
    return hash.readUInt32BE() % every === 0;
  });
}

function ignore(): void {
  // What the instrumenter logs isn't needed.
}
