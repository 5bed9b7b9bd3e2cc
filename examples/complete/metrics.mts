/** Serves metrics for Prometheus, which needs a scope to read them. */
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import express from "express";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/express";
import { startTelemetry } from "scopegate/otel";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /metrics": ["metrics:read"],
  },
});
const exporter = new PrometheusExporter({ preventServerStart: true });
startTelemetry(server, { meterProvider: new MeterProvider({ readers: [exporter] }) });

const app = express();
app.use(protect(server));
app.get("/stores/:store_id", (req, res) => {
  res.json({ store: req.params.store_id });
});
app.get("/metrics", (req, res) => {
  exporter.getMetricsRequestHandler(req, res);
});
app.listen(3000);
