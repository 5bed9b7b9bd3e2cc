/** Applications of NestJS from a list of routes, on both platforms. Decorators are called as functions. */
import "reflect-metadata";
import type { AddressInfo } from "node:net";
import {
  All,
  Controller,
  type ControllerOptions,
  type DynamicModule,
  type INestApplication,
  type NestApplicationOptions,
  Module,
  RequestMapping,
  RequestMethod,
  Req,
  Res,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";

export const PLATFORMS = ["Express", "Fastify"] as const;

export type Platform = (typeof PLATFORMS)[number];

/** The part of a request that both platforms share. */
interface NestRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly params: Readonly<Record<string, string>>;
}

/** The part of a response that both platforms share. */
export interface NestResponse {
  status(code: number): NestResponse;
  header(name: string, value: string): NestResponse;
  send(body: string): unknown;
}

export interface NestRoute {
  /** `ALL` for every method. */
  readonly method: string;
  /** In the syntax of Express 5, whose wildcards have names. */
  readonly path: string;
  readonly decorators?: readonly MethodDecorator[];
  readonly handle: (request: NestRequest, response: NestResponse) => unknown;
}

/** Fastify's wildcards have no name. */
const pathOn = (platform: Platform, path: string): string =>
  platform === "Express" ? path : path.replace(/\*\w+/g, "*").replace(/\{\/(:\w+)\}/g, "/$1?");

/** Decorators of NestJS take a class, also one whose methods are added later. */
const emptyClass = (): new () => object => class extends Object {};

/** A controller whose handlers write the response themselves. */
export function createController(
  platform: Platform,
  routes: readonly NestRoute[],
  options: string | ControllerOptions = "",
): new () => object {
  const Routes = emptyClass();
  Controller(options as ControllerOptions)(Routes);
  for (const [index, { method, path: routePath, decorators = [], handle }] of routes.entries()) {
    const name = `route${index}`;
    const prototype = Routes.prototype as object;
    const value = (request: NestRequest, response: NestResponse) => handle(request, response);
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    Req()(prototype, name, 0);
    Res()(prototype, name, 1);
    const mapping =
      method === "ALL"
        ? All(pathOn(platform, routePath))
        : RequestMapping({ path: pathOn(platform, routePath), method: RequestMethod[method as "GET"] });
    for (const decorator of [...decorators, mapping]) decorator(prototype, name, descriptor);
  }
  return Routes;
}

/** A module class with these parts. */
export function createModule(metadata: Parameters<typeof Module>[0]): new () => object {
  const Root = emptyClass();
  Module(metadata)(Root);
  return Root;
}

export const createApplication = (
  platform: Platform,
  root: (new () => object) | DynamicModule,
  options: Pick<NestApplicationOptions, "bodyParser" | "cors"> = {},
  fastifyOptions: object = {},
): Promise<INestApplication> => {
  const all: object = { logger: false, abortOnError: false, ...options };
  return platform === "Express"
    ? NestFactory.create(root, all)
    : NestFactory.create<NestFastifyApplication>(root, new FastifyAdapter(fastifyOptions), all);
};

interface Listening {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Listens on a port that the system chooses. */
export async function listenOn(app: INestApplication): Promise<Listening> {
  await app.listen(0, "127.0.0.1");
  const server = app.getHttpServer() as {
    address(): AddressInfo;
    closeAllConnections(): void;
  };
  return {
    port: server.address().port,
    close: () => {
      server.closeAllConnections();
      return app.close();
    },
  };
}
