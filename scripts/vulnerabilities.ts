/** `npm run docs:vulnerabilities`: writes docs/reference/vulnerabilities.md from the records of the tests. */
import { writeFileSync } from "node:fs";
import { PAGE, renderPage } from "../test/security/vulnerabilities/page.ts";

writeFileSync(PAGE, await renderPage());
