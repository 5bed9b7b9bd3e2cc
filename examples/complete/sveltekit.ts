/** The hook of SvelteKit: `src/hooks.server.ts`, which guards pages and endpoints. */
import { createResourceServer, type Principal } from "scopegate";
import { protect } from "scopegate/fetch";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores": ["stores:read"],
    "GET /api/stores/:store_id": ["stores:<store_id>:read"],
    "GET /:page": "public",
  },
});
const guard = protect(server);

/** The part of SvelteKit's `RequestEvent` that is used. */
interface Event {
  readonly request: Request;
  readonly url: URL;
  readonly route: { readonly id: string | null };
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly isDataRequest: boolean;
  readonly isRemoteRequest: boolean;
  readonly locals: { principal?: Principal | undefined };
}
interface Hook<E> {
  readonly event: E;
  readonly resolve: (event: E) => Response | Promise<Response>;
}

export async function handle<E extends Event>({ event, resolve }: Hook<E>): Promise<Response> {
  const { method, headers, url: sent } = event.request;
  // SvelteKit also serves the data of the page `/stores` at `/stores/__data.json`. The rule of the page applies to it.
  const url = event.isDataRequest ? event.url.href : sent;
  // The client of a remote function chooses the route of the event.
  const route = event.isRemoteRequest ? null : event.route.id;
  const access = await guard({ method, headers, url }, route ? { route, params: event.params } : undefined);
  if (!("decision" in access)) return access;
  event.locals.principal = access.principal;
  return resolve(event);
}
