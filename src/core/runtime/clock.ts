/** Reads the clock. Throws for an invalid time: otherwise expired tokens and old keys would be accepted. */
export function readClock(now: () => number): Date {
  const time: unknown = now();
  const date = new Date(typeof time === "number" ? time : Number.NaN);
  if (Number.isNaN(date.getTime()))
    throw new TypeError("The `now` option must return milliseconds since the epoch.");
  return date;
}
