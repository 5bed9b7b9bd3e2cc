/** Writes Next.js applications, without Next.js. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "./folder.ts";

/** The module of a handler that is wrapped with its route, such as `GET /api/users`. */
export const wrapped = (route: string): string =>
  [
    'import { withScopes } from "scopegate/fetch";',
    `export const ${route.split(" ")[0]} = withScopes(server, { route: ${JSON.stringify(route)} }, handler);`,
  ].join("\n");

/** A `proxy.ts` that guards every path, or those of a matcher. */
export const proxy = (matcher?: string): string =>
  [
    'import { protect } from "scopegate/fetch";',
    "const guard = protect(server);",
    "export const proxy = async (request) => { const access = await guard(request); };",
    matcher === undefined ? "" : `export const config = { matcher: ${matcher} };`,
  ].join("\n");

/** Returns a function that writes the files of an application, and returns the path of its folder `app`. */
export function nextFolders(): (files: Readonly<Record<string, string>>) => string {
  const parent = temporaryFolder("next-app");
  return (files) => {
    const project = mkdtempSync(join(parent, "project-"));
    mkdirSync(join(project, "app"));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), text);
    }
    return join(project, "app");
  };
}
