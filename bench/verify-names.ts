/** What is judged of ours. */
export const FIRST = "authenticate, first";
export const REMEMBERED = "authenticate, remembered";
