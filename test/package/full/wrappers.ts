/** Packages that wrap the functions of a framework: their versions, and the code that loads each of them. */

/** Exact versions by folder. Express 4 has its own folder: tracers only wrap a package named `express`. */
export const PINNED = {
  ".": {
    express: "5.3.0",
    koa: "3.3.0",
    "@koa/router": "15.7.0",
    // The last versions that run on Node.js 20.
    "@opentelemetry/api": "1.9.1",
    "@opentelemetry/instrumentation": "0.223.0",
    "@opentelemetry/instrumentation-express": "0.71.1",
    "@opentelemetry/instrumentation-http": "0.223.0",
    "@opentelemetry/instrumentation-koa": "0.71.0",
    "@opentelemetry/sdk-trace-node": "2.12.0",
    "dd-trace": "5.132.0",
    "elastic-apm-node": "4.18.0",
  },
  express4: { express: "4.22.3", "express-async-errors": "3.1.1" },
} as const;

export type Folder = keyof typeof PINNED;

/** The frameworks, and where each is installed. */
export const FRAMEWORKS = {
  "Express 4": { name: "express", folder: "express4" },
  "Express 5": { name: "express", folder: "." },
  Koa: { name: "koa", folder: "." },
} as const satisfies Record<string, { readonly name: string; readonly folder: Folder }>;

export type Framework = keyof typeof FRAMEWORKS;

export interface Wrapper {
  /** Loads it. A tracer sets `globalThis.isTracing`. */
  readonly code: string;
  /** Whether it is loaded before the framework and scopegate, or after them. */
  readonly orders: readonly ("before" | "after")[];
  /** The frameworks to test, each with the package that appears on the call stack of its handlers, if any. */
  readonly onStack: Partial<Record<Framework, string | undefined>>;
  readonly isTracer: boolean;
  /** How many requests to send, and their path. Default: 500 to all paths. */
  readonly total?: number;
  readonly path?: string;
}

export const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  "no wrapper": {
    code: "",
    orders: ["before"],
    onStack: { "Express 4": undefined, "Express 5": undefined, Koa: undefined },
    isTracer: false,
  },
  "express-async-errors": {
    code: `require("express-async-errors");`,
    orders: ["before", "after"],
    onStack: { "Express 4": "express-async-errors" },
    isTracer: false,
    // A wrapper per request fills the call stack after about 2,000 requests to one route.
    total: 3000,
    path: "/agents/web",
  },
  OpenTelemetry: {
    code: `
      const { trace } = require("@opentelemetry/api");
      const { registerInstrumentations } = require("@opentelemetry/instrumentation");
      const { ExpressInstrumentation } = require("@opentelemetry/instrumentation-express");
      const { HttpInstrumentation } = require("@opentelemetry/instrumentation-http");
      const { KoaInstrumentation } = require("@opentelemetry/instrumentation-koa");
      const { NodeTracerProvider } = require("@opentelemetry/sdk-trace-node");
      new NodeTracerProvider().register();
      registerInstrumentations({
        instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation(), new KoaInstrumentation()],
      });
      globalThis.isTracing = () => trace.getActiveSpan() !== undefined;`,
    orders: ["before", "after"],
    onStack: {
      "Express 4": "@opentelemetry/instrumentation-express",
      "Express 5": "@opentelemetry/instrumentation-express",
      Koa: "@opentelemetry/instrumentation-koa",
    },
    isTracer: true,
  },
  "Elastic APM": {
    code: `
      const agent = require("elastic-apm-node").start({
        active: true,
        disableSend: true,
        centralConfig: false,
        cloudProvider: "none",
        metricsInterval: "0s",
        logLevel: "off",
      });
      globalThis.isTracing = () => agent.currentTransaction !== null;`,
    orders: ["before", "after"],
    // It wraps @koa/router only before version 14, and nothing else of Koa.
    onStack: { "Express 4": "elastic-apm-node", "Express 5": "elastic-apm-node", Koa: undefined },
    isTracer: true,
  },
  "dd-trace": {
    // The agent is not running, so its port is closed.
    code: `
      process.env.DD_TRACE_ENABLED = "true";
      process.env.DD_INSTRUMENTATION_TELEMETRY_ENABLED = "false";
      process.env.DD_REMOTE_CONFIGURATION_ENABLED = "false";
      const tracer = require("dd-trace").init({ url: "http://127.0.0.1:1", startupLogs: false });
      globalThis.isTracing = () => tracer.scope().active() !== null;`,
    // If it is loaded after Express, it only traces HTTP.
    orders: ["before"],
    onStack: { "Express 4": "dd-trace", "Express 5": "dd-trace", Koa: "dd-trace" },
    isTracer: true,
  },
};
