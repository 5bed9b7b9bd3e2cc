/** The names of the contestants of scopegate that have budgets. */
export const FIRST = "authenticate, first";
export const CACHED = "authenticate, cached";
