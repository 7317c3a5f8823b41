import pino, { type Logger } from 'pino';

export type Log = Logger;

/** Structured log, one JSON object a line on standard output. Keys and bodies are never logged. */
export function createLog(level: string): Log {
  return pino({ level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime });
}
