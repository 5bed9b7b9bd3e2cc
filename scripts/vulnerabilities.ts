/** `npm run docs:vulnerabilities`: writes the list of vulnerabilities and its summary from the records of the tests. */
import { writeFileSync } from "node:fs";
import { renderPages } from "../test/security/vulnerabilities/page.ts";

for (const { path, text } of await renderPages()) writeFileSync(path, text);
