import "reflect-metadata";
import { Controller, Delete, Get, Logger, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ScopegateModule } from "scopegate/nest";
import { server } from "./server.ts";

@Controller("agents")
class Agents {
  @Get(":agent_id")
  show() {
    return {};
  }
  @Delete(":agent_id")
  remove() {
    return {};
  }
}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [Agents] })
class Application {
  readonly name = "agents";
}

export { server };
Logger.overrideLogger(false);
export default NestFactory.create(Application);
