/** Tries the claims with each mutant of the library. Every mutant must be killed by one of them. */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runChild } from "../support/child-limit.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Inside of the repository, so that a copy of the library finds the packages that it imports. */
const FOLDER = `${ROOT}reports/mutants/`;

/** Returns the exit code: 1 if a mutant survives. */
export function runMutants(): number {
  const survivors = MUTANTS.filter((mutant) => {
    const difference = findDifference(mutant);
    console.log(`${difference === undefined ? "SURVIVED" : "killed  "}  ${mutant.sentence}`);
    return difference === undefined;
  });
  console.log(`${MUTANTS.length - survivors.length} of ${MUTANTS.length} mutants are killed`);
  return survivors.length === 0 ? 0 : 1;
}

/** Returns the changed file. */
export function apply({ file, text, replacement, sentence }: Mutant): string {
  const [before, after, ...others] = readFileSync(`${ROOT}src/core/${file}`, "utf8").split(text);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`The mutant "${sentence}" does not fit ${file}: its text must be there once.`);
  return before + replacement + after;
}

/** Returns the first claim that does not hold for a mutant. */
function findDifference(mutant: Mutant): string | undefined {
  const { file, sentence } = mutant;
  const changed = apply(mutant);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const folder of ["src", "test/model", "test/support"])
    cpSync(ROOT + folder, FOLDER + folder, { recursive: true });
  for (const name of ["package.json", "tsconfig.json"]) symlinkSync(ROOT + name, FOLDER + name);
  writeFileSync(`${FOLDER}src/core/${file}`, changed);
  const { status, stdout, stderr } = runChild(
    process.execPath,
    ["--import", "tsx", `${FOLDER}test/model/first-difference.ts`],
    { cwd: FOLDER },
  );
  if (status === 0) return undefined;
  if (!stdout.startsWith("DIFFERENCE")) throw new Error(`The mutant "${sentence}" does not run: ${stderr}`);
  return stdout;
}
