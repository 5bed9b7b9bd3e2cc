/** DEL, C1 control characters, and characters that change the direction of text. JSON already escapes C0. */
const HIDDEN = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export const isHidden = (text: unknown): boolean => typeof text === "string" && text.search(HIDDEN) >= 0;

/** Escapes these characters, as JSON and YAML do in double quotes: `\u202e`. */
export const escapeHidden = (text: string): string => text.replace(HIDDEN, escapeUnits);

/** Returns the escape of each UTF-16 unit. */
export const escapeUnits = (text: string): string =>
  text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
