/** How the routes of an application are listed. */
export interface RoutesOptions {
  /** Koa: the path that was passed to koa-mount, such as `/api`. Default: none. */
  readonly prefix?: string;
  /** Express: the applications that are mounted in this one, which Express hides. Default: none. */
  readonly mounted?: readonly object[];
}
