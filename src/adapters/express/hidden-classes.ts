/** How V8 represents the requests and responses of Express. */

/** Later versions remember the hidden class of an object whose prototype was changed. */
const IS_FORGETTING = Number.parseInt(process.versions.v8, 10) < 13;

/**
 * Express changes the prototype of each request and response, so each gets a hidden class of its own in V8 11
 * and 12, and every property that is read or added costs up to a microsecond. After a deletion, V8 stores
 * the properties in a hash table, and all requests share a hidden class.
 */
export function shareHiddenClasses(request: object, response: object): void {
  // Express stores the response; other frameworks don't change prototypes.
  if (!IS_FORGETTING || !Object.hasOwn(request, "res")) return;
  putBack(request, "statusMessage");
  putBack(response, "sendDate");
}

/** Deletes a property that Node.js has set, and sets it again. */
function putBack(object: object, name: string): void {
  if (!Object.hasOwn(object, name)) return;
  const value: unknown = Reflect.get(object, name);
  if (Reflect.deleteProperty(object, name)) Reflect.set(object, name, value);
}
