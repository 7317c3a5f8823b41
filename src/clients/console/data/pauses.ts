/** Maximum time without a pause for the tab. */
const workMilliseconds = 30;

/**
 * Returns a function for a loop of work to await, which pauses when the tab needs it: values that are there already arrive without a
 * pause, and would block the tab.
 */
export function pauses(): () => Promise<void> | undefined {
  let pausedAt = performance.now();
  return () => {
    if (performance.now() - pausedAt < workMilliseconds) return undefined;
    return new Promise((resolve) =>
      setTimeout(() => {
        pausedAt = performance.now();
        resolve();
      }),
    );
  };
}
