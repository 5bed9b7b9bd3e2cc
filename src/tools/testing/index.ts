/** `scopegate/testing`: for the tests of an application. Never import it in production. */
export {
  type AccessCell,
  accessMatrix,
  type AccessMatrix,
  type AccessMatrixOptions,
} from "./access-matrix.ts";
export type { IssuedCaller, ScopedCaller, TestCaller, TokenCaller } from "./caller.ts";
export { check } from "./check.ts";
export { type TestRejection, testConditions, testRejections } from "./flaws.ts";
export type { TestKeyServer } from "./key-server.ts";
export {
  type TestBinding,
  type TestProofOptions,
  type TestProofRejection,
  testProofRejections,
} from "./proofs.ts";
export type { SampleParams } from "./sample-route.ts";
export {
  createTestIssuer,
  type TestIssuer,
  type TestIssuerOptions,
  type TestTrustOptions,
} from "./test-issuer.ts";
export type { SigningKey, TestKey } from "./test-key.ts";
export type { TestTokenOptions } from "./token-options.ts";
export { withPrincipal } from "./with-principal.ts";
