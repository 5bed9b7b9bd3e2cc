/** Parts of patterns in path-to-regexp's syntax, as strings. */

/** Escapes a string, so that the pattern matches only this string. */
export const literalPattern = (text: string): string => text.replaceAll(/[{}()[\]+?!:*\\]/g, "\\$&");

/** The pattern for a route whose path is a regular expression. No rule covers it. */
export const EXPRESSION = "/(expression)";

/** Quotes a name, so that any character can follow it. */
export const quoteName = (name: string): string => `"${name.replaceAll(/["\\]/g, "\\$&")}"`;

/** Removes the quotes from names that don't need them. */
export const unquote = (pattern: string): string =>
  pattern.replaceAll(/(?<!\\)([:*])"([A-Za-z_]\w*)"(?![\w$\u0080-\uffff])/g, "$1$2");
