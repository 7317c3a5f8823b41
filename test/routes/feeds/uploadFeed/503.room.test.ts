import type { ApiResponse } from '../../../support/api-client';
import { eventually } from '../../../support/harness';
import { filePart, formBody, goodCsv, partnerPart, OpenUpload } from '../../../support/requests';
import { startTestService, testKey, type TestService } from '../../../support/service';
import { stored } from '../../../support/stored-uploads';
import { transferRules } from '../../../../src/base/concurrency/transfer-limit';

const concurrentUploads = 2;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ concurrentUploads });
});

const normal = { ...transferRules };
beforeEach(() => void Object.assign(transferRules, { lookMilliseconds: 10, sampleMilliseconds: 60_000 }));
afterEach(() => void Object.assign(transferRules, normal));

const formOf = (partner: string) => formBody([partnerPart(partner), filePart()]);
const noRoom = { detail: 'Service temporarily unavailable' };

/** Occupies all slots by uploads of different partners that lack only their ends. */
async function fillRoom(): Promise<OpenUpload[]> {
  const uploads = [];
  for (const partner of ['Acme', 'Birch']) {
    const form = formOf(partner);
    const upload = new OpenUpload(service, {
      expect: '100-continue',
      'content-length': String(form.length),
    });
    await upload.continued;
    await upload.write(form.subarray(0, -10));
    uploads.push(upload);
  }
  await eventually('there is no room', isFull);
  return uploads;
}

/** Whether a request that waits for a second is rejected. */
async function isFull(): Promise<boolean> {
  transferRules.waitMilliseconds = 1_000;
  const { status } = await inspect();
  transferRules.waitMilliseconds = normal.waitMilliseconds;
  return status === 503;
}

async function finish(uploads: OpenUpload[]): Promise<void> {
  for (const upload of uploads) {
    await upload.write(formOf('Acme').subarray(-10));
    upload.end();
  }
  for (const upload of uploads) expect((await upload.response).status).toBe(201);
}

const inspect = () => service.api.inspect({ csv: goodCsv, partnerName: 'Cedar' });

const expectNoRoom = ({ status, headers, body }: ApiResponse) => {
  expect([status, body]).toEqual([503, noRoom]);
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
};

describe('POST /feeds/upload', () => {
  describe('503', () => {
    it('is sent when all slots are in use for too long; stores nothing, and does not affect uploads in progress', async () => {
      const uploads = await fillRoom();
      const before = await stored(service);
      transferRules.waitMilliseconds = 50;

      expectNoRoom(await service.api.upload({ csv: goodCsv, partnerName: 'Cedar' }));
      expectNoRoom(await inspect());

      expect(await stored(service)).toEqual(before);
      await finish(uploads);
      expect((await service.api.upload({ csv: goodCsv, partnerName: 'Acme' })).status).toBe(201);
    });

    it('is not sent while uploads and inspections wait; their files are read when a slot is free', async () => {
      const uploads = await fillRoom();
      const waiting = [
        ...Array.from({ length: 8 }, () => service.api.upload({ csv: goodCsv, partnerName: 'Acme' })),
        ...Array.from({ length: 8 }, inspect),
      ];
      let answered = 0;
      for (const each of waiting) void each.then(() => answered++);
      await service.api.get('/feeds');
      expect(answered).toBe(0);

      await finish(uploads);

      const statuses = (await Promise.all(waiting)).map(({ status }) => status);
      expect(statuses).toEqual([...Array<number>(8).fill(201), ...Array<number>(8).fill(200)]);
    });

    it.each([
      ['with a wrong partner_name', { partnerName: '' }, 422],
      ['with a wrong field before the file', { partnerName: 'Acme', fields: { mode: 'all' } }, 422],
      ['with a format that does not exist', { partnerName: 'Acme', fields: { format: 'none' } }, 422],
      ['without a partner_name and a file', { csv: undefined }, 422],
    ])('is not sent for uploads %s: they need no slot', async (_what, upload, status) => {
      const uploads = await fillRoom();
      const before = await stored(service);

      expect((await service.api.upload({ csv: goodCsv, ...upload })).status).toBe(status);
      if (!('fields' in upload))
        expect((await service.api.inspect({ csv: goodCsv, ...upload })).status).toBe(422);

      expect(await stored(service)).toEqual(before);
      await finish(uploads);
    });

    it('is not sent for a wrong key', async () => {
      const uploads = await fillRoom();

      expect(
        (await service.api.withKey(`${testKey}x`).upload({ csv: goodCsv, partnerName: 'Acme' })).status,
      ).toBe(401);

      await finish(uploads);
    });

    it.each([
      ['uploads', '/feeds/upload', 201],
      ['inspections', '/feeds/inspect', 200],
    ])('leaves a slot to small files beside %s of unknown size', async (_what, path, status) => {
      const large = ['Acme', 'Birch'].map((partner) => ({
        form: formOf(partner),
        upload: new OpenUpload(service, {}, path),
      }));
      for (const { form, upload } of large) await upload.write(form.subarray(0, -10));

      expect((await service.api.upload({ csv: goodCsv, partnerName: 'Cedar' })).status).toBe(201);

      for (const { form, upload } of large) {
        await upload.write(form.subarray(-10));
        upload.end();
      }
      for (const { upload } of large) expect((await upload.response).status).toBe(status);
    });

    it('ends when a client disconnects, and leaves nothing behind', async () => {
      const before = await stored(service);
      const uploads = await fillRoom();
      const waiting = inspect();
      for (const upload of uploads) upload.abort();

      expect((await waiting).status).toBe(200);
      await eventually('it is gone', async () => expect(await stored(service)).toEqual(before));
    });

    it.each<[string, Parameters<TestService['api']['upload']>[0], number]>([
      ['that was refused', { csv: '', partnerName: 'Acme' }, 400],
      ['that lacks a part', { csv: goodCsv }, 422],
      ['that is no CSV', { csv: goodCsv, partnerName: 'Acme', fileName: 'a.pdf' }, 400],
    ])('is not sent after uploads %s: they release their slots', async (_what, upload, status) => {
      for (let times = 0; times <= concurrentUploads; times++) {
        expect((await service.api.upload(upload)).status).toBe(status);
        expect((await service.api.inspect(upload)).status).not.toBe(503);
      }
    });
  });
});
