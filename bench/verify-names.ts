/** The contestants of scopegate that budgets name. */
export const FIRST = "authenticate, first";
export const CACHED = "authenticate, cached";
