import "reflect-metadata";
import { Controller, Get, Module, Param } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createResourceServer, type Principal } from "scopegate";
import { CurrentPrincipal, Public, ScopegateModule } from "scopegate/nest";

const { JWT_PUBLIC_KEY, PORT = "3000" } = process.env;
if (JWT_PUBLIC_KEY === undefined) throw new TypeError("Set JWT_PUBLIC_KEY.");

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

@Controller()
class StoresController {
  @Get("stores/:store_id")
  store(@Param("store_id") store: string, @CurrentPrincipal() caller: Principal) {
    return { store, caller: caller.userId };
  }

  @Get("health")
  @Public()
  health() {
    return { status: "ok" };
  }
}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [StoresController] })
class AppModule {}

const app = await NestFactory.create(AppModule);
await app.listen(PORT);
