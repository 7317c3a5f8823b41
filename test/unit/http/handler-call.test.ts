import type { IncomingMessage } from 'node:http';
import type { Exchange } from '../../../src/http/contract/exchange';
import { HandlerCall } from '../../../src/http/contract/handler-call';

describe('the end of the waits of a request', () => {
  it.each<[string, { isGone?: boolean; destroyed?: boolean; isDraining?: boolean }, string | undefined]>([
    ['does not come before one of these', {}, undefined],
    ['is unauthorized when its key is gone', { isGone: true, isDraining: true }, 'unauthorized'],
    ['is unavailable when its client has disconnected', { destroyed: true }, 'unavailable'],
    ['is unavailable when the process shuts down', { isDraining: true }, 'unavailable'],
  ])('%s', (_what, { isGone = false, destroyed = false, isDraining = false }, code) => {
    const exchange = {
      request: { socket: { destroyed } } as IncomingMessage,
      keyCheck: { isGone: () => isGone },
      sent: {},
      isDraining,
    } as Exchange;
    const call = new HandlerCall(exchange, undefined);

    expect(call.refusal()?.code).toBe(code);
    expect(call.isAborted()).toBe(code !== undefined);
  });
});
