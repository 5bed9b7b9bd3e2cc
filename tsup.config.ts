// A plain object: the types of tsup need packages that are not installed with it.
export default {
  entry: {
    index: "src/index.ts",
    express: "src/adapters/express/index.ts",
    koa: "src/adapters/koa/index.ts",
    fastify: "src/adapters/fastify/index.ts",
    node: "src/adapters/node/index.ts",
    testing: "src/testing/index.ts",
  },
  format: ["esm"],
  platform: "node",
  target: "node20",
  // One shared chunk for the core: an error thrown by `scopegate` stays an instance of the class that
  // `scopegate/express` sees.
  splitting: true,
  removeNodeProtocol: false,
  clean: true,
  sourcemap: true,
  dts: { compilerOptions: { ignoreDeprecations: "6.0" } },
};
