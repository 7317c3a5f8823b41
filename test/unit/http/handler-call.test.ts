import type { IncomingMessage } from 'node:http';
import type { Exchange } from '../../../src/http/exchange';
import { HandlerCall } from '../../../src/http/handler-call';

const values = {
  path: {},
  query: {},
  headers: {},
  body: undefined,
  sentBody: undefined,
  form: undefined,
  checked: undefined,
};

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
    } as Exchange;
    const readAsPut = () => ({ errors: [] });
    const call = new HandlerCall(exchange, values, { isDraining: () => isDraining, readAsPut });

    expect(call.refusal()?.code).toBe(code);
    expect(call.isAborted()).toBe(code !== undefined);
  });
});
