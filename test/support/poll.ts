import { setTimeout as pause } from 'node:timers/promises';

/**
 * Asks again and again, as long as the answer is false.
 * @returns the first other answer
 * @throws when there is none within `seconds`
 */
export async function poll<T>(
  what: string,
  ask: () => Promise<T | false> | T | false,
  seconds = 10,
): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer !== false) return answer;
    if (performance.now() > deadline) throw new Error(`Still not so after ${seconds} s: ${what}.`);
    await pause(10);
  }
}
