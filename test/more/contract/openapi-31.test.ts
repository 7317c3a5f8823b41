import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import document from '../../../generated/openapi.json';
import { toOpenApi31 } from '../../../src/http/pages/openapi-31';
import { createTestFolder, project } from '../../support/harness';

/** Generates types in a folder without the rules of this project: the generator then checks the document by the schema alone. */
function typesOf(folder: string, name: string, openapi: object): string {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(openapi));
  const generator = join(project, 'node_modules', '.bin', 'openapi-typescript');
  execFileSync(generator, [`${name}.json`, '-o', `${name}.d.ts`], { cwd: folder, stdio: 'pipe' });
  return readFileSync(join(folder, `${name}.d.ts`), 'utf8');
}

describe('the document in OpenAPI 3.1', () => {
  it('is valid, and gives the types of the 3.0 document, with those of the events', () => {
    const folder = createTestFolder();
    const { 'x-webhooks': _events, ...withoutEvents } = document;

    const earlier = typesOf(folder, 'earlier', withoutEvents);
    const later = typesOf(folder, 'later', toOpenApi31(document));

    const [, events] = /^export interface webhooks \{\n(.*?)^\}/ms.exec(later)!;
    for (const event of Object.keys(document['x-webhooks'])) expect(events).toContain(`"${event}": {`);
    const paths = /^export interface paths \{\n.*?^\}/ms;
    const components = /^export interface components \{\n.*?^\}/ms;
    expect(paths.exec(later)![0]).toBe(paths.exec(earlier)![0]);
    expect(components.exec(later)![0]).toBe(components.exec(earlier)![0]);
  });
});
