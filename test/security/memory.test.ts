/** What clients send is not remembered: the memory of a process does not grow with invented requests. */
import { describe, expect, it } from "vitest";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";
import { leftBy, LIMIT, received } from "../support/heap.ts";

const createServerFor = () => serverFor({ "GET /:team/status": "public", "POST /:team/status": [] });

describe.each(EXPRESS_VERSIONS)("a router of %s below a parameter", (_, express) => {
  it("does not remember the paths of requests", async () => {
    const app = express();
    const router = express.Router();
    router.get("/status", (_request, response) => void response.send("up"));
    app.use(protect(createServerFor())).use("/:team", router);
    const port = await serve(app);
    const name = "x".repeat(7_900);
    const left = await leftBy(700, async (index) => {
      expect(await statusWith(port, `/${index}${name}/status`)).toBe(200);
    });
    expect(left).toBeLessThan(LIMIT);
  });
});

describe("a resource server", () => {
  it("remembers at most 1 MB of the routes that a program builds from requests", async () => {
    const server = createServerFor();
    const name = "/x".repeat(400);
    const left = await leftBy(1_000, (index) => {
      const target = received(`/${index}${name}`);
      return server.check({ method: "GET", target, matchedPattern: target });
    });
    expect(left).toBeLessThan(LIMIT);
  });

  it("does not remember methods that clients invent", async () => {
    const server = createServerFor();
    const name = "X".repeat(4_000);
    const left = await leftBy(4_000, (index) => {
      const method = received(`M${index}${name}`);
      return server.check({ method, target: "/a/status", matchedPattern: "/:team/status" });
    });
    expect(left).toBeLessThan(LIMIT);
  });
});
