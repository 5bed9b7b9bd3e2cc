/**
 * A fixed seed makes mutation results reproducible. The time limit is for properties that a mutant does not break: thousands
 * of runs of instrumented code for each of them would take hours.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: 6749 });
fc.installGlobalPlugin(fc.interruptAfterTimeLimit(500));
