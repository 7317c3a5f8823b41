import { setTimeout as pause } from 'node:timers/promises';

/**
 * Looks again and again at what happens on its own time, as long as the answer is false or an expectation fails. Any
 * other error ends it at once.
 * @returns the first other answer
 * @throws the failed expectation, or an error that says `what`, when there is none within `seconds`
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | false> | T | false,
  seconds = 10,
): Promise<T> {
  for (const deadline = performance.now() + seconds * 1000; ;) {
    let failure: unknown = new Error(`Still not so after ${seconds} s: ${what}.`);
    try {
      const answer = await look();
      if (answer !== false) return answer;
    } catch (error) {
      if (!isFailedExpectation(error)) throw error;
      failure = error;
    }
    if (performance.now() > deadline) throw failure;
    await pause(5);
  }
}

function isFailedExpectation(error: unknown): boolean {
  return error instanceof Error && 'matcherResult' in error;
}
