/** Waits, turn by turn, for what no event reports. Fake timers do not advance. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}
