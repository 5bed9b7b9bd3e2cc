/** The corpora as the lists of this folder say, and as they are committed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../documentation/markdown.ts";
import { NOW } from "../security/tokens/forge.ts";
import { DECISION_TABLES } from "./decisions.ts";
import type { Corpora } from "./format.ts";
import { CONFIGURATIONS, HEADER_CASES } from "./headers.ts";
import { PATH_CASES } from "./paths.ts";
import { CORPUS_TOKENS, signedParts, TEST_KEYS, TOKEN_CONFIGURATION } from "./tokens.ts";

const ABOUT = "Written by `npm run corpora`. The format is described in README.md.";

export const fileOf = (name: keyof Corpora): string => join(ROOT, "corpora", `${name}.json`);

export const committedCorpus = <Name extends keyof Corpora>(name: Name): Corpora[Name] =>
  JSON.parse(readFileSync(fileOf(name), "utf8")) as Corpora[Name];

/** Returns the corpora. A token is not signed again if only its signature would differ. */
export function currentCorpora(signed: Corpora["tokens"]["cases"]): Corpora {
  const tokens = new Map(signed.map(({ name, token }) => [name, token]));
  const cases = CORPUS_TOKENS.map((current) => {
    const token = tokens.get(current.name) ?? "";
    return signedParts(token) === signedParts(current.token) ? { ...current, token } : current;
  });
  return {
    paths: { format: 1, about: ABOUT, cases: [...PATH_CASES] },
    headers: { format: 1, about: ABOUT, configurations: CONFIGURATIONS, cases: [...HEADER_CASES] },
    tokens: {
      format: 1,
      about: ABOUT,
      now: NOW,
      configuration: TOKEN_CONFIGURATION,
      test_keys: TEST_KEYS,
      cases,
    },
    decisions: { format: 1, about: ABOUT, tables: [...DECISION_TABLES] },
  };
}
