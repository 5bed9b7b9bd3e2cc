/** What the test passes in the environment. */
export interface Settings {
  readonly publicPem: string;
  readonly secret: string;
  /** Key sets: one that is served, one that is served late, and one that fails. */
  readonly jwksUri: string;
  readonly lateUri: string;
  readonly failingUri: string;
}
