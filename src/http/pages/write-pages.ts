import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import document from '../../../generated/openapi.json';
import { consoleDepthMax, renderShell } from './console.page';
import { initializer, renderPage } from './docs.page';
import { renderLanding } from './landing.page';
import { commandPath, describeCommand } from './offered-command';
import { toOpenApi31 } from './openapi-31';
import { hashedPath, isChunk, pagePaths, type ContentCoding } from './pages';

/** Makes the pages: landing page, console, the document, a page that shows it, and the command of partners. @returns contents by path in the folder */
function makePages(): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const contentOf = (module: string) => readFileSync(require.resolve(module));
  const asset = (name: string, content: Buffer) => {
    const path = hashedPath(`/assets/${name}`, content);
    files.set(path, content);
    return path;
  };
  // The console loads them by their names, which contain a digest.
  const consoleFolder = dirname(require.resolve('#console/console.js'));
  for (const name of readdirSync(consoleFolder).filter(isChunk))
    files.set(`/assets/${name}`, readFileSync(join(consoleFolder, name)));
  const console = {
    styles: asset('console.css', contentOf('#console/console.css')),
    script: asset('console.js', contentOf('#console/console.js')),
    workbookWorker: asset('workbook-worker.js', contentOf('#console/workbook-worker.js')),
  };
  const swagger = {
    'swagger-ui.css': contentOf('swagger-ui-dist/swagger-ui.css'),
    'swagger-ui-bundle.js': contentOf('swagger-ui-dist/swagger-ui-bundle.js'),
    'initializer.js': Buffer.from(initializer),
  };
  const [styles, script, starter] = Object.entries(swagger).map((each) => asset(...each)) as [
    string,
    string,
    string,
  ];
  // At their addresses of contract 1.2.0.
  for (const [name, content] of Object.entries(swagger)) files.set(`/docs/${name}`, content);
  files.set('/openapi.yaml', contentOf('#spec/openapi.yaml'));
  files.set('/openapi.json', Buffer.from(JSON.stringify(document)));
  files.set('/openapi-3.1.json', Buffer.from(JSON.stringify(toOpenApi31(document))));
  files.set('/docs.html', Buffer.from(renderPage({ styles, script, initializer: starter })));
  const command = contentOf('#cli/partner-feed.cjs');
  const offer = describeCommand(command);
  files.set(commandPath, command);
  files.set('/cli/partner-feed.json', Buffer.from(`${JSON.stringify(offer)}\n`));
  files.set('/index.html', Buffer.from(renderLanding(console.styles, offer)));
  for (let depth = 0; depth <= consoleDepthMax; depth++)
    files.set(`/console/${depth}.html`, Buffer.from(renderShell('../'.repeat(depth) || './', console)));
  return files;
}

/** Maximum compression: 7 s for all pages. */
const compress: Record<ContentCoding | 'identity', (content: Buffer) => Buffer> = {
  identity: (content) => content,
  gzip: (content) => gzipSync(content, { level: 9 }),
  br: (content) =>
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
};

/** Writes the pages in each encoding; rewrites changed files of the last build, and removes files that are not pages. */
function writePages(pages: Map<string, Buffer>, folder: string): void {
  const isCurrent = (path: string, content: Buffer) => {
    const written = join(folder, 'identity', path);
    return existsSync(written) && readFileSync(written).equals(content);
  };
  for (const [path, content] of pages) {
    if (isCurrent(path, content)) continue;
    // `identity` last: an interrupted build compresses again.
    for (const encoding of ['br', 'gzip', 'identity'] as const) {
      const file = join(folder, encoding, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, compress[encoding](content));
    }
  }
  for (const path of pagePaths(folder)) {
    if (!pages.has(path)) for (const encoding of Object.keys(compress)) rmSync(join(folder, encoding, path));
  }
}

// A step of the build.
writePages(makePages(), join(__dirname, '../../../pages'));
