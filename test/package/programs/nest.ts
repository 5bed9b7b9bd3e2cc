/** A user's program with NestJS and its decorators. */
import "reflect-metadata";
import type { Server } from "node:http";
import { Controller, Get, Injectable, Module, Param } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Principal, ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import { CurrentPrincipal, Public, RequireScopes, ScopegateModule } from "scopegate/nest";
import { addressOf, printAnswers, read, server, start } from "./callers.js";

@Injectable()
class Settings {
  readonly server: ResourceServer = server;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule extends Object {}

@Controller("agents")
class Agents {
  @Get(":agent_id")
  @RequireScopes("agents:read")
  one(@Param("agent_id") id: string, @CurrentPrincipal() caller: Principal | undefined): string {
    return `${id} for ${caller?.userId ?? "nobody"}`;
  }
}

@Controller("open")
class Open {
  @Get()
  @Public()
  get(): string {
    return "open";
  }
}

const scopegate = ScopegateModule.forRootAsync({
  imports: [SettingsModule],
  inject: [Settings],
  useFactory: (settings: Settings) => settings.server,
});
@Module({ imports: [scopegate], controllers: [Agents] })
class AppModule extends Object {}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [Open] })
class MistakenModule extends Object {}

start(async () => {
  const app = await NestFactory.create(AppModule, { logger: false } as object);
  await app.listen(0);
  console.log(
    routesOf(app)
      .map(({ method, pattern }) => `${method} ${pattern}`)
      .join(),
  );
  const url = `${await addressOf(app.getHttpServer() as Server)}/agents/web`;
  await printAnswers(async (headers) => read(await fetch(url, { headers })));
  await app.close();
  const mistaken = await NestFactory.create(MistakenModule, { logger: false } as object);
  const outcome = await mistaken.init().catch((error: unknown) => error);
  console.log(String(outcome).startsWith("Error: A handler has @Public()"));
});
