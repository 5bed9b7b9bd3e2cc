import fc from "fast-check";
import { beforeEach, type TestContext, vi } from "vitest";

/** A fixed seed makes mutation results reproducible. */
fc.configureGlobal({ seed: 6749 });

/** More runs of a random test take minutes for each survivor, and hardly ever kill it. */
const MAX_RUNS = 200;

const running = vi.hoisted(() => ({ test: undefined as TestContext | undefined }));

beforeEach((test) => {
  running.test = test;
});

/** Runs each random test a few times. Then skips the rest of it, which may count what all of its runs found. */
vi.mock("fast-check", async (importOriginal) => {
  const original = await importOriginal<{ readonly default: typeof fc }>();
  const runAll = original.default.assert as (...parameters: Parameters<typeof assert>) => unknown;
  const assert = (property: unknown, parameters: fc.Parameters = {}): unknown => {
    const { numRuns = MAX_RUNS } = parameters;
    if (numRuns <= MAX_RUNS) return runAll(property, parameters);
    const result = runAll(property, { ...parameters, numRuns: MAX_RUNS });
    const skip = (): void => {
      running.test?.skip();
    };
    if (result instanceof Promise) return result.then(skip);
    skip();
    return result;
  };
  return { ...original, default: { ...original.default, assert } };
});

type GenerateKeys = (type: string, options: { readonly modulusLength?: number }) => object;

/** The first RSA keys are those of the configuration. */
vi.mock("node:crypto", async (importOriginal) => {
  const original = await importOriginal<{ readonly generateKeyPairSync: GenerateKeys }>();
  const keys = JSON.parse(process.env["RSA_KEYS"] ?? "[]") as string[];
  const generateKeyPairSync: GenerateKeys = (type, options) => {
    const privateKey = type === "rsa" && options.modulusLength === 2048 ? keys.pop() : undefined;
    return privateKey === undefined ? original.generateKeyPairSync(type, options) : { privateKey };
  };
  return { ...original, default: original, generateKeyPairSync };
});
