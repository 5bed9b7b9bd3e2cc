/** A clock that tells nonsense must not let an expired token through, nor make keys young or rested. */
export function readClock(now: () => number): Date {
  const time: unknown = now();
  const date = new Date(typeof time === "number" ? time : Number.NaN);
  if (Number.isNaN(date.getTime()))
    throw new TypeError("The `now` option must return milliseconds since the epoch.");
  return date;
}
