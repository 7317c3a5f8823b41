import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FileStore } from '../../src/base/storage/file-store';
import type { ApiResponse } from '../support/api-client';
import { createTestFolder } from '../support/harness';
import { limitDisk } from '../support/faults';
import { findBroken } from '../support/service-invariants';
import { filePart, partnerPart, uploadParts } from '../support/requests';
import { startTestService, type TestService } from '../support/service';
import { stored } from '../support/stored-uploads';

const diskBytes = 1024 * 1024;
const smallCsv = 'sku,product_name,price\nA,Tent,5\n';
/** A file larger than the disk, and a size of which a few files fit. */
const largeCsv = smallCsv + `,${'x'.repeat(1_000)},1\n`.repeat(2_000);

let service: TestService;
let grow: () => Promise<void>;
beforeAll(async () => {
  const dataDir = createTestFolder();
  mkdirSync(join(dataDir, 'objects'));
  grow = await limitDisk(join(dataDir, 'objects'), diskBytes);
  const objectStore = new FileStore(dataDir);
  service = { ...(await startTestService({ objectStore })), dataDir };
});

function expectUnavailable({ status, body, headers }: ApiResponse): void {
  expect({ status, body: body as unknown }).toEqual({
    status: 503,
    body: { detail: 'Service temporarily unavailable' },
  });
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

async function expectIntact(): Promise<void> {
  const { db, objectStore, api } = service;
  expect(await findBroken({ db, objectStore, apis: [api] })).toEqual([]);
}

describe('the disk of the local store is full', () => {
  it.each([
    ['partner_name first', [partnerPart(), filePart(largeCsv)]],
    ['the file first', [filePart(largeCsv), partnerPart()]],
  ])('each upload gets 503 and leaves nothing: %s', async (_order, parts) => {
    const before = await stored(service);

    for (let times = 1; times <= 3; times++) expectUnavailable(await uploadParts(service.api, ...parts));

    expect(await stored(service)).toEqual(before);
    await expectIntact();
  });

  it('concurrent uploads are each stored or rejected', async () => {
    const csv = largeCsv.slice(0, 400_000);
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, at) => service.api.upload({ csv, partnerName: `Partner ${at}` })),
    );

    for (const answer of answers) if (answer.status !== 201) expectUnavailable(answer);
    const accepted = answers.filter(({ status }) => status === 201).length;
    expect(await service.db('feeds')).toHaveLength(accepted);
    expect(readdirSync(join(service.dataDir, 'objects/unfinished'))).toEqual([]);
    await expectIntact();
  });

  it('smaller feeds are stored and run meanwhile, and all feeds after there is space again', async () => {
    const { job } = await service.api.loadFeed(smallCsv, 'Small');
    expect(job.summary).toMatchObject({ inserted: 1 });
    const items = [{ product_id: 'PR00001', quantity: 1 }];
    expect((await service.api.post('/orders', { partner_name: 'Acme', items })).status).toBe(201);
    await expectIntact();
  });
});

// The content of the small disk is lost with it.
afterAll(async () => {
  await grow();
});
