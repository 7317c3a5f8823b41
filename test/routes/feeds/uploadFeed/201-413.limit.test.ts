import { readFile } from 'node:fs/promises';
import {
  filePart,
  formBody,
  formType,
  partnerPart,
  uploadChunked,
  uploadParts,
  type RawPart,
  OpenUpload,
} from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, rawFilePath } from '../../../support/stored-uploads';

/** Large enough that storing starts before a file passes the limit. */
const uploadBytesMax = 400_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ uploadBytesMax });
});

const csvOf = (bytes: number) => 'sku,product_name\n1,Tent\n'.padEnd(bytes - 1, '2,Lamp\n') + '\n';
const framings = [
  ['with its length in the header', uploadParts],
  ['chunked', uploadChunked],
] as const;
const orders: [string, (file: RawPart) => RawPart[]][] = [
  ['partner_name first', (file) => [partnerPart(), file]],
  ['the file first', (file) => [file, partnerPart()]],
];

describe('POST /feeds/upload', () => {
  describe.each(framings)('%s:', (_framing, upload) => {
    describe('201', () => {
      it.each(orders)('accepts a file exactly at the limit, %s', async (_order, parts) => {
        const csv = csvOf(uploadBytesMax);

        const { status, body } = await upload(service.api, ...parts(filePart(csv)));

        expect(status).toBe(201);
        expect(await readFile(await rawFilePath(service, body.feed_id), 'utf8')).toBe(csv);
      });
    });

    describe('413', () => {
      const refuses = (parts: RawPart[]) =>
        expectRefusal(service, () => upload(service.api, ...parts), 413, {
          detail: `Uploaded file exceeds the limit of ${uploadBytesMax} bytes.`,
        });

      it.each(orders)(
        'rejects a file one byte over the limit and stores nothing, %s',
        async (_order, parts) => {
          await refuses(parts(filePart(csvOf(uploadBytesMax + 1))));
        },
      );

      it.each(orders)('rejects a file many times the limit and stores nothing, %s', async (_order, parts) => {
        await refuses(parts(filePart(csvOf(8 * uploadBytesMax))));
      });

      const over = uploadBytesMax + 1;
      it.each<[string, RawPart]>([
        ['is not CSV', filePart(csvOf(over), { fileName: 'feed.pdf', mediaType: 'application/pdf' })],
        ['is empty', filePart(' '.repeat(over))],
        ['is not UTF-8', filePart(Buffer.alloc(over, 0xff))],
        ['lacks the headers', filePart('x\n'.repeat(over / 2 + 1))],
        ['has a header twice', filePart(csvOf(over).replace('sku,', 'sku,sku,'))],
        ['has a header row without an end', filePart('x'.repeat(over))],
      ])('precedes 400: a file that %s as well', async (_what, file) => {
        for (const [, parts] of orders) await refuses(parts(file));
      });

      it('precedes 422', async () => {
        const file = filePart(csvOf(over));

        await refuses([file]);
        await refuses([partnerPart(' '), file]);
        await refuses([partnerPart(), partnerPart(), file]);
      });
    });
  });

  describe('413', () => {
    const tooLarge = { detail: `Uploaded file exceeds the limit of ${uploadBytesMax} bytes.` };

    it.each([
      ['a right form', formType],
      ['a form without a boundary', 'multipart/form-data'],
    ])(
      'is sent before the body arrives if its declared length is too large: %s',
      async (_what, contentType) => {
        const upload = new OpenUpload(service, {
          'content-type': contentType,
          'content-length': String(2 ** 40),
        });
        try {
          await expectRefusal(service, () => upload.response, 413, tooLarge);
        } finally {
          upload.abort();
        }
      },
    );

    it.each(orders)('is sent as soon as the file is too large, before its end, %s', async (_order, parts) => {
      const form = formBody(parts(filePart(csvOf(2 * uploadBytesMax))));
      const upload = new OpenUpload(service);
      try {
        await expectRefusal(
          service,
          async () => {
            await upload.write(form.subarray(0, 1.5 * uploadBytesMax));
            return upload.response;
          },
          413,
          tooLarge,
        );
      } finally {
        upload.abort();
      }
    });

    it('keeps the connection usable', async () => {
      await uploadParts(service.api, partnerPart(), filePart(csvOf(8 * uploadBytesMax)));

      const { status } = await uploadParts(service.api, partnerPart(), filePart());

      expect(status).toBe(201);
    });
  });
});
