/** `npm run corpora`: writes the corpora of the lists of this folder, and the schema of their format. */
import { existsSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { committedCorpus, currentCorpora, fileOf } from "./corpora.ts";
import { type Corpora, FORMATS } from "./format.ts";

const names = Object.keys(FORMATS) as (keyof Corpora)[];
const corpora = currentCorpora(existsSync(fileOf("tokens")) ? committedCorpus("tokens").cases : []);
for (const name of names) {
  // Characters beyond ASCII are escaped: some look the same, or like nothing.
  const text = JSON.stringify(corpora[name], null, 1).replaceAll(
    /[^\n -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  writeFileSync(fileOf(name), `${text}\n`);
  const schema = JSON.stringify(z.toJSONSchema(FORMATS[name]), null, 1);
  writeFileSync(fileOf(name).replace(/\.json$/, ".schema.json"), `${schema}\n`);
}
