/** A meter provider of the OpenTelemetry SDK, and what it collects. */
import { type DataPoint, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { onTestFinished } from "vitest";
import { type MeasuredServers, startTelemetry } from "scopegate/otel";

class Reader extends MetricReader {
  protected override onForceFlush = (): Promise<void> => Promise.resolve();
  protected override onShutdown = (): Promise<void> => Promise.resolve();
}

export type Series = Readonly<Record<string, unknown>>;

/** Measures until the end of the test. `seriesOf` collects the series of one metric: attributes and `value`. */
export function measure(servers: MeasuredServers) {
  const reader = new Reader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const stop = startTelemetry(servers, { meterProvider });
  onTestFinished(async () => {
    stop();
    await meterProvider.shutdown();
  });
  const collect = async () => {
    const { resourceMetrics, errors } = await reader.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  };
  const seriesOf = async (name: string): Promise<readonly Series[]> => {
    const metric = (await collect()).find(({ descriptor }) => descriptor.name === `scopegate.${name}`);
    const points: readonly DataPoint<unknown>[] = metric?.dataPoints ?? [];
    return points.map(({ attributes, value }) => ({
      ...Object.fromEntries(
        Object.entries(attributes).map(([key, attribute]) => [key.replace(/^scopegate\./, ""), attribute]),
      ),
      value,
    }));
  };
  return { stop, meterProvider, collect, seriesOf };
}
