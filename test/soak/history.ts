/** What the issuer did and when. Every response is judged by it. */
export interface Outage {
  readonly from: number;
  /** `Infinity` while it lasts. */
  to: number;
}

export class IssuerHistory {
  /** When each key was published. */
  readonly publishedAt = new Map<string, number>();
  /** When each key was withdrawn. */
  readonly withdrawnAt = new Map<string, number>();
  readonly outages: Outage[] = [];
  readonly startedAt = Date.now();
  /** What the issuer is doing now, for the report of a violation. */
  phase = "start";

  /** How long the issuer has been up, without its outages. */
  upMs(): number {
    const now = Date.now();
    const downMs = this.outages.reduce((sum, { from, to }) => sum + Math.min(to, now) - from, 0);
    return now - this.startedAt - downMs;
  }
}
