import { createHash } from 'node:crypto';
import { ServiceError } from '../../src/base/errors';
import { limitRate } from '../../src/http/rate-limit';
import type { Caller } from '../../src/base/caller';
import { eventually } from '../support/harness';
import { startTestService } from '../support/service';

const callerWith = (key: string): Caller => ({
  keyDigest: createHash('sha256').update(key).digest(),
  keyName: key,
  isConfigured: false,
  partnerName: null,
  isReadOnly: false,
});

describe('a rate limit', () => {
  it('allows its number of requests per key and window', async () => {
    const { api } = await startTestService({ rateLimit: { requests: 3, seconds: 3 } });
    const ask = () => api.get('/feeds/profile');

    const answers = await Promise.all([ask(), ask(), ask(), ask(), ask()]);

    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const refused = answers.filter(({ status }) => status === 429);
    for (const { headers } of refused) expect(headers.get('retry-after')).toMatch(/^[123]$/);
    await eventually('the time is over', async () => (await ask()).status === 200);
  });

  it('counts each key separately', async () => {
    const count = limitRate({ requests: 2, seconds: 60 });
    const [one, other] = [callerWith('one'), callerWith('other')];
    await count(one);
    await count(one);

    await expect(count(one)).rejects.toThrow(ServiceError);
    await count(other);
    await count(other);
    await expect(count(other)).rejects.toMatchObject({
      code: 'rate_limited',
      data: { retryAfterSeconds: 60 },
    });
  });

  it('does not count requests with a wrong key', async () => {
    const { api } = await startTestService({ rateLimit: { requests: 1, seconds: 3600 } });
    for (let times = 0; times < 3; times++) {
      expect((await api.withKey('wrong-key').get('/feeds/profile')).status).toBe(401);
    }

    expect((await api.get('/feeds/profile')).status).toBe(200);
    expect((await api.get('/feeds/profile')).status).toBe(429);
  });

  it('limits no key unless it is set', async () => {
    const { api } = await startTestService();

    const answers = await Promise.all(Array.from({ length: 200 }, () => api.get('/feeds/template.csv')));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
