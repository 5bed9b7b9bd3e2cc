/**
 * Reports that tests are skipped, because this machine lacks a program or a service. In the workflows (`FORBID_SKIPS`) this
 * is an error: a suite that skips its tests would look like one that passed.
 */
export function reportMissing(skipped: string, reason: string): void {
  const message = `Skipped: ${skipped}, because ${reason}.`;
  if (process.env["FORBID_SKIPS"] !== undefined) throw new Error(message);
  console.log(message);
}
