/** Returns milliseconds since the epoch. @throws TypeError for anything but a valid date */
export function timeOf(name: string, date: unknown): number {
  const time = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(time)) throw new TypeError(`\`${name}\` must be a valid Date.`);
  return time;
}
