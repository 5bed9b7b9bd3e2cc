/** Reads the clock. Throws if it returns no valid time: otherwise expired tokens and old keys would pass. */
export function readClock(now: () => number): Date {
  const time: unknown = now();
  const date = new Date(typeof time === "number" ? time : Number.NaN);
  if (Number.isNaN(date.getTime()))
    throw new TypeError("The `now` option must return milliseconds since the epoch.");
  return date;
}
