import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import type { TestService } from './service';

/**
 * How long and from where a fuzzer runs: FUZZ_SECONDS=n for each property, FUZZ_SEED=n to repeat a run. What fails is
 * shown with its seed and path, made as small as it can be; FUZZ_PATH=path goes straight to it.
 *
 * Not guided by coverage: Jazzer.js, the one fuzzer for JavaScript that is, comes as a binary for glibc 2.38 or later, or
 * needs a compiler. Inputs are made of the grammar's own pieces instead, and then damaged.
 */
const seconds = Number(process.env.FUZZ_SECONDS ?? 1.5);
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);

/** How long a test of one property may take. */
export const fuzzTimeout = seconds * 1000 + 60_000;

/** Says what is run, and how to repeat it. */
export function fuzzFor(what: string): fc.Parameters<unknown> {
  process.stdout.write(`fuzzing ${what} for ${seconds} s: FUZZ_SEED=${seed}\n`);
  const plugins = [fc.interruptAfterTimeLimit(seconds * 1000, { failOnInterrupt: false })];
  // A path without the rest of it is the input as it was before it was made small.
  const path = process.env.FUZZ_PATH;
  return { seed, ...(path && { path, endOnFailure: true }), numRuns: Number.MAX_SAFE_INTEGER, plugins };
}

/** The same for a property whose cases take long: so many of them, unless FUZZ_SECONDS asks for a time. */
export function casesFor(what: string, numRuns: number): fc.Parameters<unknown> {
  return process.env.FUZZ_SECONDS === undefined ? { ...fuzzFor(what), numRuns, plugins: [] } : fuzzFor(what);
}

/** Removes all that uploads and runs have stored. */
export async function forgetAll({ db, dataDir, objectStore }: TestService): Promise<void> {
  await db.raw('truncate partners, feeds, products cascade');
  await rm(join(dataDir, 'objects', objectStore.bucket, 'raw'), { recursive: true, force: true });
}
