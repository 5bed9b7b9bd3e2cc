/** Resolves when the process receives SIGINT, such as from Ctrl+C, or SIGTERM. A second signal ends it. */
export const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = () => {
      process.off("SIGINT", stop).off("SIGTERM", stop);
      resolve();
    };
    process.on("SIGINT", stop).on("SIGTERM", stop);
  });
