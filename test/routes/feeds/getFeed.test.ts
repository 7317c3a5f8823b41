import { createHash } from 'node:crypto';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,NA\n';

describe('GET /feeds/{feed_id}', () => {
  describe('200', () => {
    it('has a note in the message before the first run', async () => {
      const { feedId, jobId } = await service.api.uploadFeed(csv, 'Café Müller');

      const { status, body } = await service.api.get(`/feeds/${feedId}`);

      expect(status).toBe(200);
      expect(body).toEqual({
        feed_id: feedId,
        partner_name: 'Café Müller',
        file_name: 'feed.csv',
        content_type: 'text/csv',
        status: 'processing',
        uploaded_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        validation_job_id: jobId,
        validation_status: 'queued',
        validation_message: `Validation job queued. Start it with POST /jobs/${jobId}/run.`,
        raw_file_object_key: `raw/partners/cafe-muller/feeds/${feedId}/feed.csv`,
        raw_file_bucket: 'local',
        sha256: createHash('sha256').update(csv).digest('hex'),
        size_bytes: csv.length,
        mode: 'upsert',
        collection: null,
        format_name: null,
        max_skipped_percent: null,
        max_price_jump_percent: null,
        duplicate_of: null,
        raw_file_removed_at: null,
      });
    });

    it('has the summary of the last run in its message', async () => {
      const { feedId } = await service.api.loadFeed(csv);

      const { body } = await service.api.get(`/feeds/${feedId}`);

      expect(body).toMatchObject({
        status: 'processed',
        validation_status: 'completed',
        validation_message:
          'ETL processing completed. Products processed: 2. Inserted: 1. Updated: 0. Unchanged: 0. Skipped: 1.',
      });
    });
  });

  describe('404', () => {
    it.each(['FD99999', 'FD1', 'fd00001', 'FD000001', 'JV00001', 'upload', 'FD00001%00', '%20'])(
      'does not find the feed %s',
      async (id) => {
        const { status, body } = await service.api.get(`/feeds/${id}`);

        expect(status).toBe(404);
        expect(body).toEqual({ detail: `Feed ${decodeURIComponent(id)} not found.` });
      },
    );
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.get('/feeds/%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });
});
