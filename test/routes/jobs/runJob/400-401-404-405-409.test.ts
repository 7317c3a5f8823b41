import { whileLoading, whileReading } from '../../../support/runs-in-flight';
import { storedFeed } from '../../../support/stored-uploads';
import { csv, products, run, service } from './requests';

describe('POST /jobs/{job_id}/run', () => {
  describe('400', () => {
    it('rejects a submission job', async () => {
      const { submissionJobId, jobId } = await service.api.uploadFeed(csv);
      const before = (await service.api.get(`/jobs/${submissionJobId}`)).body;

      const { status, body } = await run(submissionJobId);

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Only validation jobs can be run' });
      expect((await service.api.get(`/jobs/${submissionJobId}`)).body).toEqual(before);
      expect((await service.api.get(`/jobs/${jobId}`)).body.status).toBe('queued');
    });

    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await run('%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { submissionJobId, jobId } = await service.api.uploadFeed(csv);

      for (const id of [jobId, submissionJobId, 'JV99999']) {
        const { status, body } = await service.api.withKey(key).post(`/jobs/${id}/run`);

        expect(status).toBe(401);
        expect(body).toEqual({ detail: 'Invalid or missing API key' });
      }
      expect((await service.api.get(`/jobs/${jobId}`)).body.status).toBe('queued');
    });
  });

  describe('404', () => {
    it.each(['JV99999', 'JS99999', 'JV00000', 'JV1', 'jv00001', 'JV000001', 'FD00001', '%20', 'JV00001%00'])(
      'does not find the job %s',
      async (id) => {
        // A job with the number 1 exists.
        await service.api.uploadFeed(csv);

        const { status, body } = await run(id);

        expect(status).toBe(404);
        expect(body).toEqual({ detail: 'Job not found' });
      },
    );
  });

  describe('405', () => {
    it.each(['GET', 'HEAD', 'PUT', 'DELETE'])('rejects %s, with or without a key', async (method) => {
      for (const api of [service.api, service.api.withKey(undefined)]) {
        const { status, headers } = await api.send(method, '/jobs/JV00001/run');

        expect(status).toBe(405);
        expect(headers.get('allow')).toBe('POST');
      }
    });
  });

  describe('409', () => {
    it('rejects a running job, both while it reads and while it loads', async () => {
      const feed = await service.api.uploadFeed(csv, 'Running');

      for (const hold of [whileReading, whileLoading]) {
        const { status, body } = await hold(service, feed, async () => {
          // Progress may have been reported since.
          const job = async () => ({
            ...(await service.api.get(`/jobs/${feed.jobId}`)).body,
            progress: undefined,
          });
          const before = await job();

          const second = await run(feed.jobId);

          expect(second.status).toBe(409);
          expect(second.body).toEqual({ detail: `Job ${feed.jobId} is already running.` });
          expect(await job()).toEqual(before);
        });
        expect([status, body.status]).toEqual([200, 'completed']);
      }
      expect((await storedFeed(service, feed.feedId)).status).toBe('processed');
      expect((await products('Running')).length).toBe(2);
    });

    it('accepts one of many concurrent runs', async () => {
      const { jobId } = await service.api.uploadFeed(csv, 'Many at once');

      const responses = await Promise.all(Array.from({ length: 8 }, () => run(jobId)));

      const completed = responses.filter(({ status }) => status === 200);
      const refused = responses.filter(({ status }) => status === 409);
      expect(completed.length).toBeGreaterThan(0);
      expect(completed.length + refused.length).toBe(8);
      expect(completed.filter(({ body }) => body.summary.inserted === 2).length).toBe(1);
      expect((await products('Many at once')).length).toBe(2);
    });
  });
});
