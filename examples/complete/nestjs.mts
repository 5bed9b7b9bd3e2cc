import "reflect-metadata";
import { Body, Controller, Get, Module, Param, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Principal } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { CurrentPrincipal, Public, RequireScopes, ScopegateModule } from "scopegate/nest";
import { agentsFor, server, textOf } from "./service.mts";

@Controller()
class AgentsController {
  @Get("agents")
  list(@CurrentPrincipal() caller: Principal) {
    return agentsFor(caller);
  }

  @Get("agents/:agent_id")
  agent(@Param("agent_id") agent: string, @CurrentPrincipal() caller: Principal) {
    return { agent, caller: caller.userId };
  }

  @Get("agents/:agent_id/logs")
  @RequireScopes("logs:<agent_id>:read") // in addition to the rule in the table
  logs() {
    return [];
  }

  @Post("notes")
  note(@Body() note: unknown, @CurrentPrincipal() caller: Principal) {
    return { text: textOf(note), by: caller.userId };
  }

  @Get("health")
  @Public() // the application doesn't start if the table has another rule
  health() {
    return { status: "ok" };
  }
}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [AgentsController] })
class AppModule {}

const app = await NestFactory.create(AppModule);
app.enableCors({ origin: "https://app.example", exposedHeaders: ["WWW-Authenticate", "DPoP-Nonce"] });
await app.init();
audit(server, routesOf(app)).orThrow();
await server.ready();
await app.listen(3000);
