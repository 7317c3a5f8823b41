import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { eventually } from '../../../support/harness';
import {
  fieldPart,
  filePart,
  formBody,
  goodCsv,
  partnerPart,
  uploadParts,
  type RawPart,
  OpenUpload,
} from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, stored, type Stored } from '../../../support/stored-uploads';
import { cutConnection, whileWritesDo } from '../../../support/faults';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Large enough that storing starts before it has arrived completely. */
const largeCsv = goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(40_000);

const format = fieldPart('format', 'standard');

/** A gzip file that contains the text uncompressed. */
const packedPart = filePart(gzipSync(largeCsv, { level: 0 }), {
  fileName: 'feed.csv.gz',
  mediaType: 'application/gzip',
});

/** Sends the form up to the last occurrence of `text`, and waits until its file is below `folder`. */
async function sendUpTo(
  service: TestService,
  upload: OpenUpload,
  parts: RawPart[],
  text: string,
  folder: string,
): Promise<void> {
  const form = formBody(parts);
  const { files: before } = await stored(service);
  await upload.write(form.subarray(0, form.lastIndexOf(text)));
  await eventually('the file is being stored', async () => {
    const { files } = await stored(service);
    expect(files.filter((file) => !before.includes(file))).toEqual([expect.stringContaining(folder)]);
  });
}

const anyOrder: [string, RawPart[]][] = [
  ['partner_name first', [partnerPart(), filePart(largeCsv)]],
  ['the file first', [filePart(largeCsv), partnerPart()]],
  ['a small file', [partnerPart(), filePart(goodCsv)]],
  ['a file with a format', [partnerPart(), format, filePart(largeCsv)]],
  ['a packed file', [partnerPart(), format, packedPart]],
];

/** Points at which an upload is cut: its parts, the text before which it ends, and the folder of its file at that time. */
const cuts: [string, RawPart[], string, string][] = [
  [
    'in the middle of the file, after partner_name',
    [partnerPart(), filePart(largeCsv)],
    'LAMP-1',
    'objects/unfinished/',
  ],
  [
    'in the middle of the file, before partner_name',
    [filePart(largeCsv), partnerPart()],
    'LAMP-1',
    'objects/unfinished/',
  ],
  [
    'in the middle of a file with a format',
    [partnerPart(), format, filePart(largeCsv)],
    'LAMP-1',
    'objects/unfinished/',
  ],
  ['in the middle of a packed file', [format, packedPart, partnerPart()], 'LAMP-1', 'objects/unfinished/'],
  ['between the file and partner_name', [filePart(goodCsv), partnerPart()], 'Acme', 'objects/local/staging/'],
  ['between the file and the end', [partnerPart(), filePart(goodCsv), partnerPart()], 'Acme', '/feed.csv'],
];

describe('POST /feeds/upload', () => {
  describe('a client that disconnects', () => {
    const ways: [string, (upload: OpenUpload) => void][] = [
      ['cuts the connection', (upload) => upload.abort()],
      ['hangs up', (upload) => upload.hangUp()],
    ];
    const framings: [string, Record<string, string>][] = [
      ['chunked', {}],
      ['with its length in the header', { 'content-length': '5000000' }],
    ];

    describe.each(ways)('and %s', (_way, goAway) => {
      describe.each(framings)('(%s)', (_framing, headers) => {
        it.each(cuts)('leaves nothing behind %s', async (_where, parts, text, folder) => {
          const before = await stored(service);
          const upload = new OpenUpload(service, headers);
          await sendUpTo(service, upload, parts, text, folder);

          goAway(upload);

          await eventually('nothing is left', async () => expect(await stored(service)).toEqual(before));
          upload.abort();
        });
      });
    });

    it('does not affect a concurrent upload', async () => {
      const [, parts, text, folder] = cuts[0]!;
      const cut = new OpenUpload(service);
      await sendUpTo(service, cut, parts, text, folder);

      const beside = service.api.upload({ csv: largeCsv, partnerName: 'Beside' });
      cut.abort();

      expect((await beside).status).toBe(201);
    });
  });

  describe('503', () => {
    const unavailable = { detail: 'Service temporarily unavailable' };
    // A plain file replaces the folder: nothing can be written below it any more.
    it.each(['objects', 'objects/unfinished', 'objects/local'])(
      'has Retry-After when the object store fails, and stores nothing: %s is missing',
      async (folder) => {
        const broken = await startTestService();
        await rm(join(broken.dataDir, folder), { recursive: true });
        await writeFile(join(broken.dataDir, folder), '');

        for (const [, parts] of anyOrder) {
          const { headers } = await expectRefusal(
            broken,
            () => uploadParts(broken.api, ...parts),
            503,
            unavailable,
          );
          expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
        }
      },
    );

    it('deletes a file that cannot be moved to its final key', async () => {
      const broken = await startTestService();
      const before = await stored(broken);
      const parts = [filePart(goodCsv), partnerPart()];
      const upload = new OpenUpload(broken);
      await sendUpTo(broken, upload, parts, 'Acme', 'objects/local/staging/');
      await writeFile(join(broken.dataDir, 'objects/local/raw'), '');
      const form = formBody(parts);

      await upload.write(form.subarray(form.lastIndexOf('Acme')));
      upload.end();

      expect(await upload.response).toMatchObject({ status: 503, body: unavailable });
      expect(await stored(broken)).toEqual<Stored>({ ...before, files: ['objects/local/raw'] });
    });

    it.each(anyOrder)(
      'has Retry-After when the database connection is lost during the upload, and stores nothing: %s',
      async (_order, parts) => {
        const { headers } = await expectRefusal(
          service,
          () =>
            whileWritesDo(service, 'validation_jobs', cutConnection, () =>
              uploadParts(service.api, ...parts),
            ),
          503,
          unavailable,
        );

        expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      },
    );
  });

  describe('500', () => {
    it.each(anyOrder)('exposes no cause, and stores nothing: %s', async (_order, parts) => {
      const fail = "raise exception 'secret';";

      const { headers } = await expectRefusal(
        service,
        () => whileWritesDo(service, 'validation_jobs', fail, () => uploadParts(service.api, ...parts)),
        500,
        { detail: 'Internal server error' },
      );

      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    });
  });
});
