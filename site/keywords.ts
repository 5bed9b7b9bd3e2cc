/** What readers search for that a page does not say, by the address of the page. */
export const KEYWORDS: Readonly<Record<string, string>> = {};
