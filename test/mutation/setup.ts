/**
 * A fixed seed makes mutation results reproducible. The time limit is for properties that a mutant makes slow. It leaves time
 * for every run otherwise: some properties count the cases that they saw.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: 6749 });
fc.installGlobalPlugin(fc.interruptAfterTimeLimit(10_000));
