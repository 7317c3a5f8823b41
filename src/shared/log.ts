import pino, { type Logger } from 'pino';
import { hideKeys } from './key-format';

export type Log = Logger;

/** Headers that hold a secret. None is logged; should one ever be, it shows as this. */
const secretHeaders = ['x-api-key', 'authorization', 'cookie'];
const censor = '[redacted]';

/**
 * Structured log, one JSON object a line on standard output. Keys, bodies and query values are never logged: whoever
 * writes a line leaves them out, and what is caught here is a second net.
 * @param destination - where the lines go instead; for tests
 */
export function createLog(level: string, destination?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
    redact: {
      paths: ['', '*.', '*.*.'].flatMap((place) => secretHeaders.map((name) => `${place}headers["${name}"]`)),
      censor,
    },
    hooks: { streamWrite: hideKeys },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** The same log for one of several processes: each line has the number of its own. */
export function withPid(log: Log): Log {
  return log.child({ pid: process.pid });
}

/** An error as it is logged. */
interface LoggedError {
  type: string;
  message: string;
  stack?: string;
  code?: unknown;
  cause?: LoggedError;
}

/** Not its other properties: PostgreSQL's `detail` and `where` have the values of a row, and Node's `rawPacket` the headers. */
function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  return { type: name, message, stack, code, ...(cause !== undefined && { cause: describeError(cause) }) };
}
