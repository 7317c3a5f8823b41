import type { ApiResponse } from '../../../support/api-client';
import { eventually } from '../../../support/harness';
import { filePart, formBody, goodCsv, partnerPart, OpenUpload } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, stored } from '../../../support/stored-uploads';

const concurrentUploads = 2;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ concurrentUploads });
});

const formOf = (partner: string) => formBody([partnerPart(partner), filePart()]);
const noRoom = { detail: 'Service temporarily unavailable' };

/** Begins as many uploads as there is room for, each of another partner; all that is missing is their end. */
async function fillRoom(): Promise<OpenUpload[]> {
  const uploads = [];
  for (const partner of ['Acme', 'Birch']) {
    const upload = new OpenUpload(service, { expect: '100-continue' });
    await upload.continued;
    await upload.write(formOf(partner).subarray(0, -10));
    uploads.push(upload);
  }
  await eventually('there is no room', async () => (await inspect()).status === 503);
  return uploads;
}

const inspect = () => service.api.inspect({ csv: goodCsv, partnerName: 'Cedar' });

const expectNoRoom = ({ status, headers, body }: ApiResponse) => {
  expect([status, body]).toEqual([503, noRoom]);
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
};

describe('POST /feeds/upload', () => {
  describe('503', () => {
    it('is sent before the body is read when all upload slots are in use; stores nothing, and does not affect them', async () => {
      const uploads = await fillRoom();

      const refused = new OpenUpload(service, { 'content-length': '100000' });
      expectNoRoom(await expectRefusal(service, () => refused.response, 503, noRoom));
      refused.abort();
      expectNoRoom(await inspect());

      for (const upload of uploads) {
        await upload.write(formOf('Acme').subarray(-10));
        upload.end();
        expect((await upload.response).status).toBe(201);
      }
      expect((await service.api.upload({ csv: goodCsv, partnerName: 'Acme' })).status).toBe(201);
    });

    it('is not sent when more files begin at once than there are slots: they wait', async () => {
      const uploads = [];
      for (const partner of ['Acme', 'Birch', 'Cedar', 'Daisy']) {
        const form = formOf(partner);
        const fileBegins = form.indexOf('filename');
        const upload = new OpenUpload(service, { expect: '100-continue' });
        await upload.continued;
        await upload.write(form.subarray(0, fileBegins));
        uploads.push({ upload, rest: form.subarray(fileBegins) });
      }

      for (const { upload, rest } of uploads) void upload.write(rest).then(() => upload.end());

      for (const { upload } of uploads) expect((await upload.response).status).toBe(201);
    });

    it('ends when a client disconnects, and leaves nothing behind', async () => {
      const before = await stored(service);
      const uploads = await fillRoom();
      for (const upload of uploads) upload.abort();

      await eventually('a slot is free', async () => {
        return (await inspect()).status === 200;
      });
      await eventually('it is gone', async () => expect(await stored(service)).toEqual(before));
    });

    it.each<[string, Parameters<TestService['api']['upload']>[0], number]>([
      ['that was refused', { csv: '', partnerName: 'Acme' }, 400],
      ['that lacks a part', { csv: goodCsv }, 422],
      ['that is no CSV', { csv: goodCsv, partnerName: 'Acme', fileName: 'a.pdf' }, 400],
    ])('does not come after uploads %s: they give back what they have', async (_what, upload, status) => {
      for (let times = 0; times <= concurrentUploads; times++) {
        expect((await service.api.upload(upload)).status).toBe(status);
        expect((await service.api.inspect(upload)).status).not.toBe(503);
      }
    });
  });
});
