/** From the signal to the end of all processes: what the service promises. */
export const promisedStopMilliseconds = 30_000;

/** How much of that is left for the embedded server to stop when requests in flight have taken all of their time. */
export const stopReserveMilliseconds = 5_000;

/** What is kept of it for a server that does not stop in order: an immediate stop, its death, and the end of ours. */
export const databaseForcedStopMilliseconds = 3_000;
