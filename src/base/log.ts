import pino, { type Logger } from 'pino';
import { hideKeys } from './key-format';

export type Log = Logger;

/** Headers with a secret, which are replaced by `censor` if logged by mistake. */
const secretHeaders = ['x-api-key', 'authorization', 'proxy-authorization', 'cookie'];
const censor = '[redacted]';

/**
 * Creates a log with one JSON object per line on standard output. Callers never log keys, bodies and query values; redaction is a
 * second safeguard.
 * @param destination - replaces standard output with a write per line
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

/**
 * Standard output that collects lines, as each write is a system call: for at most 100 ms, and up to 4,096 bytes, which a pipe does not
 * mix with the lines of other processes and threads. Each write is synchronous, so the rest cannot overtake it when the process ends.
 * Only for the main thread, which has the event `exit`, and only once in a process.
 */
export function linesTogether(): pino.DestinationStream {
  const output = pino.destination({
    dest: 1,
    sync: true,
    minLength: 3072,
    maxWrite: 4096,
    periodicFlush: 100,
  });
  // Not `flushSync`, which would wait for ever for a reader that has left.
  process.on('exit', () => output.flush());
  return output;
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
