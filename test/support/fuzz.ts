import fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestService } from './service';

/**
 * Without FUZZ_SECONDS a property is tried a few times, always the same: a run of the tests says what the change did.
 * `make fuzz` tries each for FUZZ_SECONDS, from a new seed; FUZZ_SEED=n repeats a run. What fails is shown with its seed
 * and path, made as small as it can be; FUZZ_PATH=path goes straight to it.
 *
 * Not guided by coverage: Jazzer.js, the one fuzzer for JavaScript that is, comes as a binary for glibc 2.38 or later, or
 * needs a compiler. Inputs are made of the grammar's own pieces instead, and then damaged.
 */
const seconds = Number(process.env.FUZZ_SECONDS ?? 0);

/** What the parameters of a property of any type have. */
type Tries = Omit<fc.Parameters<unknown>, 'reporter' | 'asyncReporter' | 'examples'>;

/** The parameters of a property: how often it is tried, unless FUZZ_SECONDS says for how long. */
export function casesFor(what: string, numRuns: number): Tries {
  const { FUZZ_SEED, FUZZ_PATH } = process.env;
  const seed = Number(FUZZ_SEED ?? (seconds > 0 ? Date.now() % 2 ** 31 : 20261125));
  // A path without the rest of it is the input as it was before it was made small.
  const path = FUZZ_PATH && { path: FUZZ_PATH, endOnFailure: true };
  if (seconds === 0) return { seed, ...path, numRuns };
  process.stdout.write(`fuzzing ${what} for ${seconds} s: FUZZ_SEED=${seed}\n`);
  const plugins = [fc.interruptAfterTimeLimit(seconds * 1000, { failOnInterrupt: false })];
  return { seed, ...path, numRuns: Number.MAX_SAFE_INTEGER, plugins };
}

/** Removes all that uploads and runs have stored. */
export async function forgetAll({ db, dataDir, objectStore }: TestService): Promise<void> {
  await db.raw('truncate partners, feeds, products cascade');
  await rm(join(dataDir, 'objects', objectStore.bucket, 'raw'), { recursive: true, force: true });
}
