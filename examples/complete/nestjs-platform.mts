/** Checks every request of NestJS, also those for which it runs no guard. */
import "reflect-metadata";
import { Controller, Get, Module, Param } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import type { Request, Response } from "express";
import { createResourceServer, type Principal } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { protect } from "scopegate/express";
import { CurrentPrincipal, ScopegateModule } from "scopegate/nest";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /metrics": ["metrics:read"],
  },
});

@Controller("stores")
class StoresController {
  @Get(":store_id")
  one(@Param("store_id") store: string, @CurrentPrincipal() caller: Principal) {
    return { store, caller: caller.userId };
  }
}

@Module({ imports: [ScopegateModule.forRoot(server)], controllers: [StoresController] })
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule);
app.enableCors({ exposedHeaders: ["WWW-Authenticate", "DPoP-Nonce"] }); // before `protect`
app.use(protect(server)); // checks every request below
app.use("/metrics", (_req: Request, res: Response) => {
  res.json({ requests: 1 }); // middleware: NestJS runs no guard for it
});
await app.init();
const routes = routesOf(app.getHttpAdapter().getInstance()); // all routes of Express, not only those of controllers
audit(server, [...routes, { method: "GET", pattern: "/metrics" }]).orThrow({ warnings: true });
await app.listen(3000);
