import "reflect-metadata";
import type { AddressInfo, Server } from "node:net";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { type CustomTransportStrategy, Payload } from "@nestjs/microservices";
import { principalOf } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { load, type Program, toResult } from "./host.ts";

type Strategy = CustomTransportStrategy & { setHttpAdapter(adapter: object): void };
const { McpController, McpRawRequest, McpStrategy, StreamableHttpTransport, Tool } = await load<{
  readonly McpController: () => ClassDecorator;
  readonly McpRawRequest: () => ParameterDecorator;
  readonly McpStrategy: new (options: object) => Strategy;
  readonly StreamableHttpTransport: new () => object;
  readonly Tool: (options: object) => MethodDecorator;
}>("@rekog/mcp-nest");

export const start: Program["start"] = async (server, runTool) => {
  const parameters = z.looseObject({});
  @McpController()
  class Tools {
    @Tool({ name: "search", parameters })
    search(@Payload() args: object, @McpRawRequest() request: object) {
      return toResult(runTool("search", args, principalOf(request)));
    }

    @Tool({ name: "run_agent", parameters })
    run(@Payload() args: object, @McpRawRequest() request: object) {
      return toResult(runTool("run_agent", args, principalOf(request)));
    }

    @Tool({ name: "remove_agent", parameters })
    remove(@Payload() args: object, @McpRawRequest() request: object) {
      return toResult(runTool("remove_agent", args, principalOf(request)));
    }
  }

  @Module({ controllers: [Tools] })
  class Root extends Object {}

  const transports = [new StreamableHttpTransport()];
  const strategy = new McpStrategy({ name: "agents", version: "1.0.0", transports });
  const options: object = { logger: false };
  const app = await NestFactory.create(Root, options);
  app.use("/mcp", protectMcp(server));
  strategy.setHttpAdapter(app.getHttpAdapter());
  app.connectMicroservice({ strategy });
  await app.startAllMicroservices();
  await app.listen(0, "127.0.0.1");
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return { port, close: () => app.close() };
};
