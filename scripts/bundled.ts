/** The packages whose code is in the build, in alphabetical order. `scripts/commonjs.ts` fails if one is missing. */
export const BUNDLED = ["jose", "path-to-regexp", "zod"] as const;
