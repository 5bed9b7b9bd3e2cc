import "reflect-metadata";
import { Controller, Get, Module, Param } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createResourceServer, type Principal } from "scopegate";
import { CurrentPrincipal, Public, ScopegateModule } from "scopegate/nest";

const { JWT_PUBLIC_KEY, PORT = "3000" } = process.env;
if (JWT_PUBLIC_KEY === undefined) throw new TypeError("Set JWT_PUBLIC_KEY.");

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

@Controller()
class AgentsController {
  @Get("agents/:agent_id")
  agent(@Param("agent_id") agent: string, @CurrentPrincipal() caller: Principal) {
    return { agent, caller: caller.userId };
  }

  @Get("health")
  @Public()
  health() {
    return { status: "ok" };
  }
}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [AgentsController] })
class AppModule {}

const app = await NestFactory.create(AppModule);
await app.listen(PORT);
