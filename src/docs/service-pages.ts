import { readFileSync } from 'node:fs';
import document from '../../generated/openapi.json';
import { encoded, type Encoded } from '../http/compressed';
import { hashedPath, staticFile, type StaticFile, type StaticFiles } from '../http/static-files';
import { consoleAddresses, renderShell } from './console.page';
import { contentSecurityPolicy, initializer, renderPage } from './docs.page';
import { renderLanding } from './landing.page';

type Entry = [path: string, file: StaticFile];

/** Makes the pages outside the contract: landing page, console, the document, and a page that shows it. */
export function servicePages(): StaticFiles {
  return new Map([...consolePages(), ...documentPages()]);
}

/** @throws Error when the console is not built (`make dist/.built`) */
function consolePages(): Entry[] {
  const styles = asset('console.css', contentOf('#console/console.css'), 'text/css');
  const script = asset('console.js', contentOf('#console/console.js'), 'text/javascript');
  const paths = { styles: styles[0][0], script: script[0][0] };
  return [
    ['/', page(renderLanding(paths.styles), true)],
    ...consoleAddresses().map(({ path, toRoot }): Entry => [path, page(renderShell(toRoot, paths))]),
    ...styles,
    ...script,
  ];
}

function documentPages(): Entry[] {
  const contents: [name: string, content: Encoded, mediaType: string][] = [
    ['swagger-ui.css', contentOf('swagger-ui-dist/swagger-ui.css'), 'text/css'],
    ['swagger-ui-bundle.js', contentOf('swagger-ui-dist/swagger-ui-bundle.js'), 'text/javascript'],
    ['initializer.js', encoded(Buffer.from(initializer)), 'text/javascript'],
  ];
  const assets = contents.map((each) => asset(...each));
  const [styles, script, starter] = assets.map(([[path]]) => path) as [string, string, string];
  const json = encoded(Buffer.from(JSON.stringify(document)));
  return [
    ['/openapi.yaml', staticFile(contentOf('#spec/openapi.yaml'), 'application/yaml')],
    ['/openapi.json', staticFile(json, 'application/json')],
    ['/docs', page(renderPage({ styles, script, initializer: starter }))],
    ...assets.flat(),
    // At their addresses of contract 1.2.0.
    ...contents.map(([name, content, type]): Entry => [`/docs/${name}`, staticFile(content, type)]),
  ];
}

const contentOf = (module: string) => encoded(readFileSync(require.resolve(module)));

/** A file that pages load, at an address of its own for each content; at those of other contents it must be revalidated. */
const asset = (name: string, content: Encoded, mediaType: string): [own: Entry, others: Entry] => {
  const path = `/assets/${name}`;
  return [
    [hashedPath(path, content.identity), staticFile(content, mediaType, { isHashed: true })],
    [hashedPath(path, content.identity, '*'), staticFile(content, mediaType)],
  ];
};

/** A page that loads files of this service only. */
const page = (html: string, isForBrowsers = false) =>
  staticFile(encoded(Buffer.from(html)), 'text/html', { contentSecurityPolicy, isForBrowsers });
