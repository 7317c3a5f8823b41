/**
 * Repeats `attempt` until it succeeds, for what happens on its own time.
 * @throws what the last attempt threw, once `milliseconds` are over
 */
export async function eventually<T>(attempt: () => Promise<T> | T, milliseconds = 10_000): Promise<T> {
  for (const deadline = Date.now() + milliseconds; ;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
