import { readFileSync } from 'node:fs';
import document from '../../generated/openapi.json';
import type { Handlers, SwitchableOperation } from '../http/contract';
import { entityTagOf, hasCopy } from '../http/entity-tag';
import { contentSecurityPolicy, initializer, renderPage } from './docs.page';

/** A file as it is served: the whole of it is kept in memory. */
interface ServedFile<CacheControl> {
  content: Buffer;
  headers: { ETag: string; 'Cache-Control': CacheControl };
}

/** The document and the page that shows it. The files of the page come from the npm package, three of them and no other. */
export function docsHandlers(): Pick<Handlers, SwitchableOperation> {
  const styles = lasting(readFileSync(require.resolve('swagger-ui-dist/swagger-ui.css')));
  const script = lasting(readFileSync(require.resolve('swagger-ui-dist/swagger-ui-bundle.js')));
  const starter = lasting(Buffer.from(initializer));
  const page = changing(
    Buffer.from(
      renderPage({
        styles: styles.headers.ETag,
        script: script.headers.ETag,
        initializer: starter.headers.ETag,
      }),
    ),
  );
  const yaml = changing(readFileSync(require.resolve('#spec/openapi.yaml')));
  // The bytes that the reply becomes: its tag has to be theirs.
  const json = changing(Buffer.from(JSON.stringify(document)));

  return {
    async getOpenapiYaml({ headers, reply }) {
      if (hasCopy(headers, yaml.headers.ETag)) return reply(304, undefined, yaml.headers);
      return Promise.resolve(reply(200, yaml.content, yaml.headers));
    },

    async getOpenapiJson({ headers, reply }) {
      if (hasCopy(headers, json.headers.ETag)) return reply(304, undefined, json.headers);
      return Promise.resolve(reply(200, document, json.headers));
    },

    async getDocsPage({ headers, reply }) {
      if (hasCopy(headers, page.headers.ETag)) return reply(304, undefined, page.headers);
      const policy = { 'Content-Security-Policy': contentSecurityPolicy };
      return Promise.resolve(reply(200, page.content, { ...page.headers, ...policy }));
    },

    async getDocsStyles({ headers, reply }) {
      if (hasCopy(headers, styles.headers.ETag)) return reply(304, undefined, styles.headers);
      return Promise.resolve(reply(200, styles.content, styles.headers));
    },

    async getDocsScript({ headers, reply }) {
      if (hasCopy(headers, script.headers.ETag)) return reply(304, undefined, script.headers);
      return Promise.resolve(reply(200, script.content, script.headers));
    },

    async getDocsInitializer({ headers, reply }) {
      if (hasCopy(headers, starter.headers.ETag)) return reply(304, undefined, starter.headers);
      return Promise.resolve(reply(200, starter.content, starter.headers));
    },
  };
}

/** A file whose address stays when its content changes. */
function changing(content: Buffer): ServedFile<'no-cache'> {
  return { content, headers: { ETag: entityTagOf(content), 'Cache-Control': 'no-cache' } };
}

/** A file whose address changes with its content: the page names its digest. */
function lasting(content: Buffer): ServedFile<'public, max-age=31536000, immutable'> {
  const cacheControl = 'public, max-age=31536000, immutable';
  return { content, headers: { ETag: entityTagOf(content), 'Cache-Control': cacheControl } };
}
