/** A fixed seed makes mutation results reproducible. */
import fc from "fast-check";

fc.configureGlobal({ seed: 6749 });
