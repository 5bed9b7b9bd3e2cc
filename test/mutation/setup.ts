/** Without chance a mutant that was killed stays killed. */
import fc from "fast-check";

fc.configureGlobal({ seed: 6749 });
