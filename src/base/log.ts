import pino, { type Logger } from 'pino';
import { hideKeys } from './key-format';

export type Log = Logger;

/** Headers with a secret, which are replaced by `censor` if logged by mistake. */
const secretHeaders = ['x-api-key', 'authorization', 'cookie'];
const censor = '[redacted]';

/**
 * Creates a log with one JSON object per line on standard output. Callers never log keys, bodies and query values; redaction is a
 * second safeguard.
 * @param destination - replaces standard output, for tests
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

interface LoggedError {
  type: string;
  message: string;
  stack?: string;
  code?: unknown;
  cause?: LoggedError;
}

/** Omits other properties: PostgreSQL's `detail` and `where` contain values of rows, Node's `rawPacket` headers. */
function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  return { type: name, message, stack, code, ...(cause !== undefined && { cause: describeError(cause) }) };
}
