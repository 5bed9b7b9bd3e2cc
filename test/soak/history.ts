/** What the issuer did and when: the ground that every answer is judged on. */
export interface Outage {
  readonly from: number;
  /** `Infinity` while it lasts. */
  to: number;
}

export class IssuerHistory {
  /** When each key could be fetched first. */
  readonly publishedAt = new Map<string, number>();
  /** When each key could be fetched last. */
  readonly withdrawnAt = new Map<string, number>();
  readonly outages: Outage[] = [];
  readonly startedAt = Date.now();
  /** What the issuer does at the moment, for whoever reads a violation. */
  phase = "start";

  /** For how long it has been up until now. */
  upMs(): number {
    const now = Date.now();
    const downMs = this.outages.reduce((sum, { from, to }) => sum + Math.min(to, now) - from, 0);
    return now - this.startedAt - downMs;
  }
}
