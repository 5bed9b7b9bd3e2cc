/** A text for a log, where a line break would begin another entry: control characters are replaced by `?`. */
export const printable = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
