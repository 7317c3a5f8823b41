/** Promised maximum from the signal to the end of all processes. A file of its own: `main.ts` and the embedded server share it. */
export const promisedStopMilliseconds = 30_000;

/** Part of it for the embedded server, after the timeout of requests in progress. */
export const stopReserveMilliseconds = 5_000;

/** Part of it for an immediate or forced stop of the server, and the exit of this process. */
export const databaseForcedStopMilliseconds = 3_000;
