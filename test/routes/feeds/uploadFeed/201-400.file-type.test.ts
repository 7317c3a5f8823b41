import { fieldPart, filePart, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, storedFeed } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const upload = (fileName: string, mediaType: string | null) =>
  uploadParts(service.api, partnerPart(), filePart(undefined, { fileName, mediaType }));

const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

describe('POST /feeds/upload', () => {
  describe('201', () => {
    it.each<[string, string | null]>([
      ['feed.csv', 'text/csv'],
      ['feed.CSV', 'text/csv'],
      ['Feed.Csv', 'application/octet-stream'],
      ['feed.csv', 'application/csv'],
      ['feed.csv', 'application/vnd.ms-excel'],
      ['feed.csv', 'application/octet-stream'],
      ['feed.csv', 'text/plain'],
      ['feed.csv', 'text/x-csv'],
      ['feed.csv', 'text/comma-separated-values'],
      ['feed.csv', null],
      ['feed.2026.csv', 'text/csv'],
      ['feed.xlsx.csv', 'text/csv'],
      ['.csv', 'text/csv'],
      ['.csv', 'application/octet-stream'],
      ['feed', 'text/csv'],
      ['feed', 'TEXT/CSV'],
      ['feed', 'application/csv'],
      ['feed', 'application/vnd.ms-excel'],
      ['feed.txt', 'text/csv'],
      ['feed.TXT', 'application/csv'],
      ['feed.txt', 'application/vnd.ms-excel'],
      ['feed.txt', 'text/csv; charset=utf-8'],
    ])('accepts %s as %s for CSV', async (fileName, mediaType) => {
      const { status, body } = await upload(fileName, mediaType);

      expect(status).toBe(201);
      expect((await storedFeed(service, body.feed_id)).filename).toBe(fileName);
    });

    it.each<[string | null, string]>([
      [null, 'text/csv'],
      ['text/csv', 'text/csv'],
      ['text/plain', 'text/plain'],
      ['application/octet-stream', 'application/octet-stream'],
      ['application/vnd.ms-excel', 'application/vnd.ms-excel'],
    ])('stores the media type: a part with %s has %s', async (mediaType, contentType) => {
      const { body } = await upload('feed.csv', mediaType);

      expect((await service.api.get(`/feeds/${body.feed_id}`)).body.content_type).toBe(contentType);
    });

    it.each(['text/csv; charset=utf-8', 'text/csv;charset="UTF-8"; header=present'])(
      'accepts a media type with parameters: %s',
      async (mediaType) => {
        const { status, body } = await upload('feed.csv', mediaType);

        expect(status).toBe(201);
        expect((await service.api.get(`/feeds/${body.feed_id}`)).body.content_type).toMatch(/^text\/csv\b/);
      },
    );

    const asFile = 'Content-Disposition: form-data; name="file"; filename="feed.csv"';
    it.each([
      ['first, and no media type', 'text/csv', [asFile]],
      ['lower case, and no media type', 'text/csv', [asFile.replace('C', 'c').replace('D', 'd')]],
      ['after the media type', 'text/plain', ['Content-Type: text/plain', asFile]],
      ['in lower case', 'text/plain', [asFile.toLowerCase(), 'content-type: text/plain']],
      ['without quotes', 'text/plain', [asFile.replaceAll('"', ''), 'Content-Type: text/plain']],
      [
        'with its parameters in reverse order',
        'text/plain',
        ['Content-Disposition: form-data; filename="feed.csv"; name="file"', 'Content-Type: text/plain'],
      ],
    ])('finds the media type with the disposition %s', async (_how, contentType, headers) => {
      const part = { ...filePart(), headers };

      for (const parts of [
        [partnerPart(), part],
        [part, partnerPart()],
      ]) {
        const { status, body } = await uploadParts(service.api, ...parts);

        expect(status).toBe(201);
        expect((await storedFeed(service, body.feed_id)).content_type).toBe(contentType);
      }
    });

    it.each<[string, string[], string | null, string]>([
      ['names a media type', ['Content-Type: text/plain'], null, 'text/csv'],
      ['names no media type', [], 'text/plain', 'text/plain'],
    ])(
      'ignores a part whose content looks like the header of a file part that %s',
      async (_what, lines, mediaType, contentType) => {
        const head = ['Content-Disposition: form-data; name="file"; filename="x.csv"', ...lines];
        const ignored = fieldPart('log', [...head, '', 'x'].join('\r\n'));

        const file = filePart(undefined, { mediaType });
        const { body } = await uploadParts(service.api, ignored, partnerPart(), file);

        expect((await storedFeed(service, body.feed_id)).content_type).toBe(contentType);
      },
    );
  });

  describe('400', () => {
    const refusesType = async (fileName: string, mediaType: string | null) => {
      await expectRefusal(service, () => upload(fileName, mediaType), 400, {
        detail: 'Only CSV uploads are supported at this time.',
      });
    };

    it.each([
      'image/png',
      'image/svg+xml',
      'IMAGE/PNG',
      'application/pdf',
      'application/pdf; version=1.7',
      'application/zip',
      'application/x-zip-compressed',
      'application/json',
      'application/ld+json',
      'text/json',
      xlsx,
    ])('rejects a file named .csv with the media type %s, and stores nothing', (mediaType) =>
      refusesType('feed.csv', mediaType),
    );

    it.each<[string, string | null]>([
      ['feed', null],
      ['feed', 'text/plain'],
      ['feed', 'application/octet-stream'],
      ['feed', 'image/png'],
      ['feed', xlsx],
      ['feed.txt', null],
      ['feed.txt', 'text/plain'],
      ['feed.txt', 'text/plain; charset=utf-8'],
      ['feed.txt', 'application/octet-stream'],
      ['feed.txt', 'application/pdf'],
      ['feed.txt', 'application/json'],
      ['feed.xlsx', xlsx],
      ['feed.xlsx', 'text/csv'],
      ['feed.xls', 'application/vnd.ms-excel'],
      ['feed.xls', 'text/csv'],
      ['feed.json', 'application/json'],
      ['feed.json', 'text/csv'],
      ['feed.tsv', 'text/csv'],
      ['feed.pdf', 'application/pdf'],
      ['feed.png', 'text/csv'],
      ['feed.csv.gz', 'text/csv'],
      ['feed.csv.zip', 'application/octet-stream'],
      ['feed.csvx', 'text/csv'],
      ['feed.csv.txt', 'text/plain'],
    ])('rejects %s as %s, and stores nothing', refusesType);
  });
});
