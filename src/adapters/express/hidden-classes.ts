/** V8 before 13 gives each object whose prototype is changed its own hidden class: every access is slow. */
const HAS_OWN_CLASSES = Number.parseInt(process.versions.v8, 10) < 13;

/** Lets Express's requests share a hidden class, and its responses: each becomes a hash table. */
export function shareHiddenClasses(request: object, response: object | undefined): void {
  // Express stores the response in the request when it changes their prototypes.
  if (!HAS_OWN_CLASSES || !Object.hasOwn(request, "res")) return;
  putBack(request, "statusMessage");
  if (response) putBack(response, "sendDate");
}

/** An object becomes a hash table when it loses a property, but not if that was the last one it got. */
function putBack(object: object, name: string): void {
  if (!Object.hasOwn(object, name)) return;
  const value: unknown = Reflect.get(object, name);
  if (Reflect.deleteProperty(object, name)) Reflect.set(object, name, value);
}
