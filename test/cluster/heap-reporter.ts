/** Reports the heap of a process to the test that started it. */
process.on("message", (message) => {
  if (message !== "heap") return;
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
// The channel to the test must not keep the process alive.
process.channel?.unref();
