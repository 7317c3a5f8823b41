import { Readiness } from '../../../src/operation/telemetry/readiness';

describe('a process', () => {
  it('is starting until it serves, and draining after the signal', () => {
    const stopping = new AbortController();
    const readiness = new Readiness(stopping.signal);

    expect(readiness.report()).toEqual({ status: 'starting' });
    readiness.open();
    expect(readiness.report()).toEqual({ status: 'ready' });
    stopping.abort();
    expect(readiness.report()).toEqual({ status: 'draining' });
  });
});
