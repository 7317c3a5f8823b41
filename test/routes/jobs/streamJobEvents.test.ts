import { jobEventTimes } from '../../../src/runs/jobs/job-events';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobChanges, jobPollMilliseconds, jobWaitLimits } from '../../../src/runs/jobs/job-changes';
import type { UploadedFeed } from '../../support/api-client';
import { eventually } from '../../support/harness';
import { whileLoading } from '../../support/runs-in-flight';
import { withStoredKey, startTestService, testKey, type TestService } from '../../support/service';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,NA\n';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Creates a feed with a queued run, without worker. */
async function queueFeed(partnerName: string): Promise<UploadedFeed> {
  const feed = await service.api.uploadFeed(csv, partnerName);
  await service.api.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async' });
  return feed;
}

/** A message of a stream: its fields by name; empty for a comment. */
type Message = Record<string, string>;

async function open(jobId: string, headers: Record<string, string> = {}) {
  const client = new AbortController();
  const response = await fetch(`${service.url}/jobs/${jobId}/events`, {
    headers: { 'x-api-key': testKey, ...headers },
    signal: client.signal,
  });
  return { response, messages: messagesOf(response), leave: () => client.abort() };
}

async function* messagesOf({ body }: Response): AsyncGenerator<Message> {
  let text = '';
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      yield Object.fromEntries(
        fields.map((field) => /^(.*?): ?(.*)$/.exec(field)!.slice(1)).filter(([name]) => name),
      );
    }
  }
  expect(text).toBe('');
}

async function nextJob(
  messages: AsyncGenerator<Message>,
): Promise<{ id: string; job: Record<string, unknown> }> {
  for (;;) {
    const { value } = await messages.next();
    if (value === undefined) throw new Error('The stream has ended.');
    const { event, id, data } = value as Message;
    if (event === undefined) continue;
    expect(event).toBe('job');
    return { id: id!, job: JSON.parse(data!) as Record<string, unknown> };
  }
}

async function rest(messages: AsyncGenerator<Message>): Promise<Message[]> {
  const all: Message[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

describe('GET /jobs/{job_id}/events', () => {
  describe('200', () => {
    it('sends the current job and each change until its run ends', async () => {
      const feed = await queueFeed('Followed');
      const { response, messages } = await open(feed.jobId);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(response.headers.get('x-accel-buffering')).toBe('no');
      expect((await messages.next()).value).toEqual({ retry: '2000' });
      expect((await nextJob(messages)).job.status).toBe('queued');

      const states: unknown[] = [];
      await whileLoading(service, feed, async () => {
        for (let phase: unknown; phase !== 'comparing';) {
          const { job } = await nextJob(messages);
          states.push(job.status);
          phase = (job.progress as { phase: string } | undefined)?.phase;
        }
      });
      let last = await nextJob(messages);
      while (last.job.status === 'running') last = await nextJob(messages);

      expect(new Set(states)).toEqual(new Set(['running']));
      const { headers, body } = await service.api.get(`/jobs/${feed.jobId}`);
      expect(last).toEqual({ id: headers.get('etag'), job: body });
      expect(await rest(messages)).toEqual([]);
    });

    it.each(['submissionJobId', 'jobId'] as const)('sends a finished job once: %s', async (which) => {
      const jobId = (await service.api.loadFeed(csv))[which];
      const { messages } = await open(jobId);

      expect(await rest(messages)).toEqual([
        { retry: '2000' },
        { event: 'job', id: expect.any(String), data: expect.any(String) },
      ]);
    });

    it('sends a job without a run once', async () => {
      const { jobId } = await service.api.uploadFeed(csv, 'Not run');
      const { messages } = await open(jobId);

      const [, { id }, ...more] = (await rest(messages)) as [Message, Message, ...Message[]];

      expect(more).toEqual([]);
      const again = await open(jobId, { 'last-event-id': id! });
      expect([again.response.status, await rest(again.messages)]).toEqual([200, [{ retry: '2000' }]]);
    });

    it('sends only new states to a reconnecting client', async () => {
      const feed = await queueFeed('Back');
      const first = await open(feed.jobId);
      const { id } = await nextJob(first.messages);
      first.leave();

      const second = await open(feed.jobId, { 'last-event-id': id });
      expect((await second.messages.next()).value).toEqual({ retry: '2000' });
      await service.api.post(`/jobs/${feed.jobId}/run`);

      expect((await nextJob(second.messages)).job.status).not.toBe('queued');
      second.leave();
    });

    it('sends heartbeats without changes, and ends after its maximum duration', async () => {
      jest.replaceProperty(jobEventTimes, 'heartbeatMilliseconds', 100);
      jest.replaceProperty(jobEventTimes, 'streamMilliseconds', 1_000);
      const { jobId } = await queueFeed('Silent');
      const { messages } = await open(jobId);

      const [retry, job, ...comments] = await rest(messages);

      expect([retry, job]).toEqual([{ retry: '2000' }, expect.objectContaining({ event: 'job' })]);
      expect(comments.length).toBeGreaterThan(0);
      for (const comment of comments) expect(comment).toEqual({});
    });

    it('stops polling when the client disconnects', async () => {
      const { jobId } = await queueFeed('Leaves');
      const watching = jest.spyOn(JobChanges.prototype, 'wait');
      const { messages, leave } = await open(jobId);
      await nextJob(messages);
      await eventually('it waits', () => watching.mock.calls.length > 0);

      leave();

      await eventually('the wait is over', async () => {
        await watching.mock.results[0]!.value;
        return true;
      });
      await sleep(3 * jobPollMilliseconds);
      expect(watching).toHaveBeenCalledTimes(1);
    });
  });

  describe('204', () => {
    it('tells a client with the final state not to reconnect', async () => {
      const { jobId } = await service.api.loadFeed(csv, 'Done');
      const { headers } = await service.api.get(`/jobs/${jobId}`);

      const response = await service.api.get(`/jobs/${jobId}/events`, {
        'last-event-id': headers.get('etag')!,
      });

      expect([response.status, response.body]).toEqual([204, undefined]);
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.get('/jobs/%E0%A4%A/events');

      expect([status, body]).toEqual([400, { detail: 'Malformed request path.' }]);
    });
  });

  describe('404', () => {
    it.each(['JV99999', 'JV1', 'x'])('does not find the job %s', async (jobId) => {
      const { status, body } = await service.api.get(`/jobs/${jobId}/events`);

      expect([status, body.error_code]).toEqual([404, 'JOB_NOT_FOUND']);
    });

    it("does not find another partner's job", async () => {
      const { jobId } = await service.api.uploadFeed(csv, 'Owner');
      const limited = await withStoredKey(service, 'Another partner');

      expect((await limited.get(`/jobs/${jobId}/events`)).status).toBe(404);
    });
  });

  describe('503', () => {
    it('is returned beyond the maximum number of followers', async () => {
      jest.replaceProperty(jobWaitLimits, 'waitersMax', 0);
      const { jobId } = await service.api.uploadFeed(csv);

      const { status, headers } = await service.api.get(`/jobs/${jobId}/events`);

      expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    });
  });
});
