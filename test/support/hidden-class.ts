/** The hidden classes of V8, which tests can only read with its own syntax. */
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

setFlagsFromString("--allow-natives-syntax");
const compile = (source: string) =>
  new Script(source).runInThisContext() as (...objects: object[]) => boolean;

/** Whether V8 can use what it has learned about one of the objects for the other. */
export const haveSameClass = compile("(one, other) => %HaveSameMap(one, other)");

/** Whether V8 stores the properties in the order of their hidden class, not in a hash table. */
export const hasClassOfProperties = compile("(one) => %HasFastProperties(one)");
