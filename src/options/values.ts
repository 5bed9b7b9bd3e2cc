/** The kinds of values that options have, and what to write instead of another one. */
import * as z from "zod/mini";
import { suggest } from "../errors.ts";
import { ALGORITHMS } from "../keys/algorithm.ts";
import { isSecureUrl } from "../keys/secure-url.ts";

export const text = (expected: string) =>
  z.string({ error: expected }).check(z.minLength(1, { error: expected }));
export const texts = (expected: string) => z.array(text(expected), { error: expected });
export const flag = z.boolean({ error: "Write true or false." });
export const seconds = z
  .number({ error: "Write a number of seconds, 0 or more." })
  .check(z.gte(0, { error: "Write a number of seconds, 0 or more." }));
export const callback = (expected: string) =>
  z.custom<(...values: never[]) => unknown>((value) => typeof value === "function", { error: expected });
export const table = (value: z.core.$ZodType, expected: string) =>
  z.record(z.string(), value, { error: expected });

export const printable = (expected: string) =>
  text(expected).check(z.regex(/^[\x20-\x7e]+$/, { error: expected }));
const SECURE_URL = "Write an absolute https URL; http is for this machine alone.";
export const secureUrl = z
  .string({ error: SECURE_URL })
  .check(z.refine(isSecureUrl, { error: ({ input }) => `${SECURE_URL}${explainInsecurity(String(input))}` }));

/** What is wrong with a URL, of which no part is quoted: it may hold a password. */
function explainInsecurity(url: string): string {
  if (url === "") return "";
  if (!URL.canParse(url))
    return url.startsWith("/")
      ? " This one is relative: put `https://` and the host in front."
      : " This one has no scheme: put `https://` in front.";
  const { protocol, username, password } = new URL(url);
  if (username !== "" || password !== "")
    return " This one holds a user or a password: leave them out, and give `fetch` if the server asks for them.";
  if (protocol === "http:")
    return " This one is http on another machine: write `https://` in place of `http://`.";
  return ` This one begins with \`${protocol}\`: is \`https://\` missing in front?`;
}
const DAY_MS = 86_400_000;
export const milliseconds = (least: number) => {
  const error = `Write a number of milliseconds from ${least} to ${DAY_MS}, one day.`;
  return z.number({ error }).check(z.gte(least, { error }), z.lte(DAY_MS, { error }));
};

export const algorithm = z.enum(ALGORITHMS, {
  error: ({ input }) =>
    typeof input === "string"
      ? suggest(input, ALGORITHMS, `Write one of ${ALGORITHMS.join(", ")}.`)
      : `Write one of ${ALGORITHMS.join(", ")}.`,
});

const CLAIM = 'Write a claim name, or the path to it as a list: ["realm_access", "roles"].';
export const claim = z.union([text(CLAIM), texts(CLAIM).check(z.minLength(1, { error: CLAIM }))], {
  error: CLAIM,
});
