/** V8 before 13 gives each object whose prototype is changed its own hidden class: every access is slow. */
const HAS_CLASS_PER_OBJECT = Number.parseInt(process.versions.v8, 10) < 13;

/** Makes Express's objects hash tables: requests then share one hidden class, and responses another. */
export function shareHiddenClasses(request: object, response: object | undefined): void {
  // Express stores the response in the request when it changes their prototypes.
  if (!HAS_CLASS_PER_OBJECT || !Object.hasOwn(request, "res")) return;
  reinsert(request, "statusMessage");
  if (response) reinsert(response, "sendDate");
}

/** An object becomes a hash table when it loses a property, but not if that was the last one it got. */
function reinsert(object: object, name: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(object, name);
  if (!descriptor?.writable || !Object.isExtensible(object) || !Reflect.deleteProperty(object, name)) return;
  Object.defineProperty(object, name, { __proto__: null, ...descriptor } as PropertyDescriptor);
}
