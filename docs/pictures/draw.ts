/** `npm run docs:pictures`: writes the pictures of the documentation to this folder. */
import { writeFileSync } from "node:fs";
import { pictures } from "./pictures.ts";

for (const [name, draw] of Object.entries(pictures)) writeFileSync(new URL(name, import.meta.url), draw());
