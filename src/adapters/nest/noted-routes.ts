/** A route that NestJS has registered at the adapter of its platform, which does not store its handler. */
export interface NotedRoute {
  /** Upper case, or `*` for every method. */
  readonly method: string;
  readonly pattern: string;
  /** Whether the handler has `@Public()`. */
  readonly isPublic: boolean;
  /** Whether the handler belongs to a controller: NestJS runs guards for no other handler. */
  readonly isController: boolean;
}

/** The routes of each adapter. In a file that does not import NestJS, so that an audit can read it. */
export const notedRoutes = new WeakMap<object, NotedRoute[]>();

/** The servers whose guards run in front of the controllers of an adapter. */
export const guardingServers = new WeakMap<object, Set<object>>();
