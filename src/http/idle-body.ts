import type { IncomingMessage } from 'node:http';
import { requestTimedOut, type ServiceError } from '../errors';

/**
 * Tells, once, when the client has sent nothing of the body for as long as the server's `timeout` allows. A pause of our
 * own, while what has come in is not read yet, does not count.
 * @returns ends the watch
 */
export function watchIdleBody(request: IncomingMessage, giveUp: (error: ServiceError) => void): () => void {
  const onTimeout = () => {
    if (request.readableLength === 0) giveUp(requestTimedOut());
    // Without a new beginning it would not be told again.
    else request.socket.setTimeout(request.socket.timeout ?? 0);
  };
  // Node sends it to a request that is not complete, and only to one that has a listener for it.
  request.on('timeout', onTimeout);
  return () => request.off('timeout', onTimeout);
}
