import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeSchema } from '../../../scripts/describe-schema';
import { createTestDatabase } from '../../support/databases';
import { project } from '../../support/harness';

describe('generated/schema.sql', () => {
  it('equals the schema that the migrations create', async () => {
    const { db } = await createTestDatabase();

    const [head, ...tables] = readFileSync(join(project, 'generated', 'schema.sql'), 'utf8').split('\n\n');

    // `make drift` starts no PostgreSQL for a dump of the same migrations, so it cannot see an edited one.
    expect(head).toMatch(/^-- Made from migrations\/ \([0-9a-f]{16}\) by "make generate"/);
    expect(tables.join('\n\n')).toBe(await describeSchema(db));
  });
});
