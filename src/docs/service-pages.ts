import { readFileSync } from 'node:fs';
import document from '../../generated/openapi.json';
import { staticFile, type StaticFile, type StaticFiles } from '../http/static-files';
import { contentSecurityPolicy, initializer, renderPage } from './docs.page';

/** The address stays when the content changes. */
const revalidated = { 'Cache-Control': 'no-cache' };
/** The address contains the digest of the content. */
const immutable = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** Makes the pages outside the contract: the document, and a page that shows it. */
export function servicePages(): StaticFiles {
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
  return new Map([
    ['/openapi.yaml', staticFile(yaml, 'application/yaml', revalidated)],
    ['/openapi.json', staticFile(json, 'application/json', revalidated)],
    [
      '/docs',
      staticFile(Buffer.from(page), 'text/html', {
        ...revalidated,
        'Content-Security-Policy': contentSecurityPolicy,
      }),
    ],
    ['/docs/swagger-ui.css', styles],
    ['/docs/swagger-ui-bundle.js', script],
    ['/docs/initializer.js', starter],
  ]);
}

function swaggerUi(name: 'swagger-ui.css' | 'swagger-ui-bundle.js', mediaType: string): StaticFile {
  return staticFile(readFileSync(require.resolve(`swagger-ui-dist/${name}`)), mediaType, immutable);
}
