import { filePart, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';

// A separate file: a part that crashes the process would fail the other tests of its file.
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('POST /feeds/upload', () => {
  describe('201', () => {
    it.each([
      ['a file', ['Content-Disposition: form-data; filename="photo.csv"', 'Content-Type: text/csv']],
      ['bytes', ['Content-Disposition: form-data', 'Content-Type: application/octet-stream']],
    ])(
      'ignores %s without a part name',
      async (_what, headers) => {
        const nameless = { headers, content: 'x' };

        const { status } = await uploadParts(service.api, nameless, partnerPart(), filePart());

        expect(status).toBe(201);
      },
      5_000,
    );
  });
});
