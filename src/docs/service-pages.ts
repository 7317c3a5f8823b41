import { readFileSync } from 'node:fs';
import document from '../../generated/openapi.json';
import { staticFile, type StaticFile, type StaticFiles } from '../http/static-files';
import { consoleAddresses, renderShell } from './console.page';
import { contentSecurityPolicy, initializer, renderPage } from './docs.page';
import { renderLanding } from './landing.page';

/** The address stays when the content changes. */
const revalidated = { 'Cache-Control': 'no-cache' };
/** The address contains the digest of the content. */
const immutable = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** A page that loads files of this service only. */
const guarded = { ...revalidated, 'Content-Security-Policy': contentSecurityPolicy };

/** Makes the pages outside the contract: landing page, console, the document, and a page that shows it. */
export function servicePages(): StaticFiles {
  return new Map([...consolePages(), ...documentPages()]);
}

/** @throws Error when the console is not built (`make dist/.built`) */
function consolePages(): [string, StaticFile][] {
  const styles = staticFile(readFileSync(require.resolve('#console/console.css')), 'text/css', immutable);
  const script = staticFile(
    readFileSync(require.resolve('#console/console.js')),
    'text/javascript',
    immutable,
  );
  const entityTags = { styles: styles.headers.ETag, script: script.headers.ETag };
  const landing = Buffer.from(renderLanding(entityTags.styles.slice(1, 17)));
  return [
    ['/', staticFile(landing, 'text/html', { ...guarded, Vary: 'Accept' })],
    ...consoleAddresses().map(({ path, toRoot }): [string, StaticFile] => [
      path,
      staticFile(Buffer.from(renderShell(toRoot, entityTags)), 'text/html', guarded),
    ]),
    ['/console/assets/console.js', script],
    ['/console/assets/console.css', styles],
  ];
}

function documentPages(): [string, StaticFile][] {
  const styles = swaggerUi('swagger-ui.css', 'text/css');
  const script = swaggerUi('swagger-ui-bundle.js', 'text/javascript');
  const starter = staticFile(Buffer.from(initializer), 'text/javascript', immutable);
  const page = renderPage({
    styles: styles.headers.ETag,
    script: script.headers.ETag,
    initializer: starter.headers.ETag,
  });
  const yaml = readFileSync(require.resolve('#spec/openapi.yaml'));
  const json = Buffer.from(JSON.stringify(document));
  return [
    ['/openapi.yaml', staticFile(yaml, 'application/yaml', revalidated)],
    ['/openapi.json', staticFile(json, 'application/json', revalidated)],
    ['/docs', staticFile(Buffer.from(page), 'text/html', guarded)],
    ['/docs/swagger-ui.css', styles],
    ['/docs/swagger-ui-bundle.js', script],
    ['/docs/initializer.js', starter],
  ];
}

function swaggerUi(name: 'swagger-ui.css' | 'swagger-ui-bundle.js', mediaType: string): StaticFile {
  return staticFile(readFileSync(require.resolve(`swagger-ui-dist/${name}`)), mediaType, immutable);
}
