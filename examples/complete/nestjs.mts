import "reflect-metadata";
import { Body, Controller, Get, Module, Param, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Principal } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { CurrentPrincipal, Public, RequireScopes, ScopegateModule } from "scopegate/nest";
import { storesFor, server, textOf } from "./service.mts";

@Controller()
class StoresController {
  @Get("stores")
  list(@CurrentPrincipal() caller: Principal) {
    return storesFor(caller);
  }

  @Get("stores/:store_id")
  store(@Param("store_id") store: string, @CurrentPrincipal() caller: Principal) {
    return { store, caller: caller.userId };
  }

  @Get("stores/:store_id/logs")
  @RequireScopes("logs:<store_id>:read") // in addition to the rule in the table
  logs() {
    return [];
  }

  @Post("orders")
  order(@Body() order: unknown, @CurrentPrincipal() caller: Principal) {
    return { text: textOf(order), by: caller.userId };
  }

  @Get("health")
  @Public() // the application doesn't start if the table has another rule
  health() {
    return { status: "ok" };
  }
}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [StoresController] })
class AppModule {}

const app = await NestFactory.create(AppModule);
app.enableCors({ origin: "https://app.example", exposedHeaders: ["WWW-Authenticate", "DPoP-Nonce"] });
await app.init();
audit(server, routesOf(app)).orThrow();
await server.ready();
await app.listen(3000);
