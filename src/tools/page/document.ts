/** The page as one HTML document, and the headers that it's sent with. */
import { createHash } from "node:crypto";
import script from "virtual:policy-page";
import { escapeHidden, escapeUnits } from "../escape.ts";
import { MARKUP } from "./markup.ts";
import type { PageData } from "./page-data.ts";
import { STYLE } from "./style.ts";

const [SCRIPT, LOOK] = [script, STYLE].map((text) => createHash("sha256").update(text).digest("base64"));

/** Nothing is loaded, and only this script and this style are used. */
const CSP = `default-src 'none'; script-src 'sha256-${SCRIPT}'; style-src 'sha256-${LOOK}'; base-uri 'none'; form-action 'none'`;

/** Sent as a header, because a document itself can't prevent that another page shows it in a frame. */
export const HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `${CSP}; frame-ancestors 'none'`,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
});

/** Escapes the data, so that the name of a rule or a role can't end its element. */
export function renderPage(data: PageData): string {
  const json = escapeHidden(JSON.stringify(data).replaceAll(/[<>&]/g, escapeUnits));
  const parts: Readonly<Record<string, string>> = { CSP, STYLE, DATA: json, SCRIPT: script };
  return MARKUP.replaceAll(/\{(CSP|STYLE|DATA|SCRIPT)\}/g, (_, name: string) => parts[name] ?? "");
}
