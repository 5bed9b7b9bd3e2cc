/** An application of NestJS whose handlers are reached by GraphQL, by a microservice and by a gateway. */
import "reflect-metadata";
import type { AddressInfo, Server } from "node:net";
import {
  Controller,
  type DynamicModule,
  type INestApplication,
  Module,
  type WebSocketAdapter,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ClientProxyFactory, MessagePattern, Transport } from "@nestjs/microservices";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import { firstValueFrom } from "rxjs";
import { createResourceServer, type Principal } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import { CurrentPrincipal, RequireScopes, ScopegateModule } from "scopegate/nest";

/** Packages that only `test/runtimes/package.json` has, by what is used of them. */
const load = async <T>(name: string): Promise<T> => (await import(name)) as T;
const { GraphQLModule, Query, Resolver } = await load<{
  readonly GraphQLModule: { forRoot(options: object): DynamicModule };
  readonly Query: (type: () => unknown) => MethodDecorator;
  readonly Resolver: () => ClassDecorator;
}>("@nestjs/graphql");
const { SubscribeMessage, WebSocketGateway } = await load<{
  readonly SubscribeMessage: (event: string) => MethodDecorator;
  readonly WebSocketGateway: (options: object) => ClassDecorator;
}>("@nestjs/websockets");
const { WsAdapter } = await load<{
  readonly WsAdapter: new (app: INestApplication) => WebSocketAdapter;
}>("@nestjs/platform-ws");
const { ApolloDriver } = await load<{ readonly ApolloDriver: unknown }>("@nestjs/apollo");
const { MercuriusDriver } = await load<{ readonly MercuriusDriver: unknown }>("@nestjs/mercurius");

export interface Setup {
  readonly platform: "Express" | "Fastify";
  readonly publicPem: string;
  /** Whether `protect` of the platform is in front of NestJS. */
  readonly isProtected?: boolean;
  /** Whether the microservice has the guards of the application. */
  readonly inheritAppConfig?: boolean;
}

export interface Running {
  readonly port: number;
  /** The handlers that have run. */
  readonly ran: readonly string[];
  /** What the application has logged as errors. */
  readonly errors: readonly string[];
  /** Calls the handler of the microservice. */
  readonly send: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

export async function start(setup: Setup): Promise<Running> {
  const { platform, publicPem, isProtected = true, inheritAppConfig = true } = setup;
  const ran: string[] = [];
  const errors: string[] = [];
  const server = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [publicPem],
    scopeMappings: {
      "POST /graphql": ["graph:use"],
      "POST /graphql/*path": "public",
      "GET /live": "public",
    },
  });

  @Resolver()
  class Resolvers {
    @Query(() => String)
    caller(@CurrentPrincipal() principal: Principal) {
      ran.push("caller");
      return principal.userId;
    }

    @Query(() => String)
    @RequireScopes("secrets:read")
    secret() {
      ran.push("secret");
      return "a secret";
    }
  }

  @WebSocketGateway({ path: "/live" })
  class Gateway extends Object {
    @SubscribeMessage("ask")
    ask() {
      ran.push("gateway");
      return { event: "answer", data: "from the gateway" };
    }
  }

  @Controller()
  class Messages extends Object {
    @MessagePattern("ask")
    ask() {
      ran.push("microservice");
      return "from the microservice";
    }
  }

  const isExpress = platform === "Express";
  const graph = GraphQLModule.forRoot({
    driver: isExpress ? ApolloDriver : MercuriusDriver,
    autoSchemaFile: true,
    // Apollo has the request in the context by itself.
    ...(!isExpress && { context: (req: object) => ({ req }) }),
  });
  @Module({
    imports: [ScopegateModule.forRoot(server), graph],
    controllers: [Messages],
    providers: [Resolvers, Gateway],
  })
  class Root extends Object {}

  const quiet = (): void => undefined;
  const logger = { log: quiet, warn: quiet, error: (one: unknown) => void errors.push(String(one)) };
  const options: object = { logger };
  const app = isExpress
    ? await NestFactory.create(Root, options)
    : await NestFactory.create<NestFastifyApplication>(Root, new FastifyAdapter(), options);
  app.useWebSocketAdapter(new WsAdapter(app));
  if (isProtected && isExpress) app.use(forExpress.protect(server));
  if (isProtected && !isExpress)
    await (app as NestFastifyApplication).register(forFastify.protect(server) as never);
  const at = { transport: Transport.TCP, options: { host: "127.0.0.1", port: 0 } } as const;
  const service = app.connectMicroservice(at, { inheritAppConfig });
  await app.startAllMicroservices();
  await app.listen(0, "127.0.0.1");
  const [tcp, http] = [service.unwrap<Server>(), app.getHttpServer() as Server];
  const { port } = tcp.address() as AddressInfo;
  return {
    port: (http.address() as AddressInfo).port,
    ran,
    errors,
    send: async () => {
      const client = ClientProxyFactory.create({ ...at, options: { ...at.options, port } });
      try {
        return await firstValueFrom<unknown>(client.send("ask", {}));
      } finally {
        await client.close();
      }
    },
    close: () => app.close(),
  };
}
