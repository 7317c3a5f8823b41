/**
 * The folders directly below src, the lowest layer first, each with its subfolders in the same order. A folder or subfolder imports only
 * what is listed before it. The subfolder '.' is the files of the folder itself.
 */
const folders = {
  base: {
    imports: [],
    subfolders: {
      '.': [],
      concurrency: ['.'],
      db: ['.', 'concurrency'],
      storage: ['.', 'concurrency'],
      'embedded-postgres': ['.', 'db'],
    },
  },
  'feed-format': {
    imports: ['base'],
    subfolders: {
      '.': [],
      read: ['.'],
      rows: ['.', 'read'],
      detect: ['.', 'read', 'rows'],
      write: ['.', 'read'],
      check: ['.', 'read', 'rows', 'detect', 'write'],
    },
  },
  http: {
    imports: ['base'],
    subfolders: {
      keys: [],
      idempotency: [],
      body: ['keys'],
      contract: ['keys', 'body'],
      reply: ['keys', 'body', 'contract'],
      pages: ['contract', 'reply'],
      '.': ['keys', 'body', 'contract', 'reply'],
    },
  },
  catalog: {
    imports: ['base', 'feed-format', 'http'],
    subfolders: {
      changes: [],
      partners: ['changes'],
      formats: ['partners'],
      products: ['changes', 'partners', 'formats'],
    },
  },
  sales: { imports: ['base', 'feed-format', 'http', 'catalog'], subfolders: { orders: [], analytics: [] } },
  runs: {
    imports: ['base', 'feed-format', 'http', 'catalog'],
    subfolders: {
      etl: [],
      jobs: ['etl'],
      queue: ['etl', 'jobs'],
      execution: ['etl', 'jobs', 'queue'],
      '.': ['etl', 'jobs', 'queue', 'execution'],
    },
  },
  intake: {
    imports: ['base', 'feed-format', 'http', 'catalog', 'runs'],
    subfolders: { feeds: [], sources: ['feeds'], provenance: [] },
  },
  webhooks: { imports: ['base', 'http', 'catalog', 'sales', 'runs', 'intake'], subfolders: { '.': [] } },
  operation: {
    imports: ['base', 'feed-format', 'http', 'catalog', 'sales', 'runs', 'intake', 'webhooks'],
    subfolders: {
      telemetry: [],
      retention: [],
      database: [],
      process: ['telemetry', 'retention', 'database'],
      admin: ['retention', 'database', 'process'],
    },
  },
  clients: {
    imports: ['base', 'feed-format'],
    subfolders: { workbook: [], cli: ['workbook'], console: ['workbook'] },
  },
};

function requireOrder(place, imports) {
  const order = Object.keys(imports);
  for (const [name, others] of Object.entries(imports)) {
    const listedBefore = order.slice(0, order.indexOf(name));
    const upward = others.filter((other) => !listedBefore.includes(other));
    if (upward.length > 0)
      throw new Error(`${place}/${name} may not import ${upward.join(', ')}: they are not listed before it.`);
  }
}

requireOrder(
  'src',
  Object.fromEntries(Object.entries(folders).map(([name, { imports }]) => [name, imports])),
);
for (const [folder, { subfolders }] of Object.entries(folders)) requireOrder(`src/${folder}`, subfolders);

const names = Object.keys(folders);
/** Files of a subfolder; '.' is the files of the folder itself. */
const filesOf = (folder, subfolder) => `^src/${folder}/${subfolder === '.' ? '[^/]+$' : `${subfolder}/`}`;

const betweenFolders = Object.entries(folders).map(([folder, { imports }]) => ({
  name: `${folder}-imports`,
  comment: `src/${folder} may import ${imports.join(', ') || 'no other folder of src'}. See docs/explanation/architecture.md.`,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: '^src/operation/(process|admin)/' },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...imports].join('|')})/` },
}));

const betweenSubfolders = Object.entries(folders).flatMap(([folder, { subfolders }]) =>
  Object.entries(subfolders).map(([subfolder, imports]) => ({
    name: `${folder}-${subfolder}-imports`,
    comment: `Of src/${folder}, ${subfolder === '.' ? 'files of the folder itself' : subfolder} may import ${imports.join(', ') || 'no other subfolder'}.`,
    severity: 'error',
    from: { path: filesOf(folder, subfolder) },
    to: { path: `^src/${folder}/`, pathNot: [subfolder, ...imports].map((each) => filesOf(folder, each)) },
  })),
);

/** Files in a folder that has no line above. */
const unknown = {
  path: '^src/[^/]+/',
  pathNot: names.flatMap((folder) =>
    Object.keys(folders[folder].subfolders).map((subfolder) => filesOf(folder, subfolder)),
  ),
};

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment:
        'Files that import one another cannot be read one after the other: move what both need below them.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'known-subfolder',
      comment:
        'A new folder of src gets its line in .dependency-cruiser.cjs, and one in the map of the README.',
      severity: 'error',
      from: unknown,
      to: {},
    },
    {
      name: 'known-subfolder-imported',
      comment:
        'A new folder of src gets its line in .dependency-cruiser.cjs, and one in the map of the README.',
      severity: 'error',
      from: {},
      to: unknown,
    },
    ...betweenFolders,
    ...betweenSubfolders,
    {
      name: 'composers-import',
      comment: 'They put the service together: they may import everything but clients and the entry.',
      severity: 'error',
      from: { path: '^src/(operation/(process|admin)/|app\\.ts$|main\\.ts$)' },
      to: { path: '^src/(clients/|main\\.ts$)' },
    },
    {
      name: 'clients-need-no-server',
      comment:
        'How files are read, and the clients of the API, need no database, store or worker: of src/base only its own files.',
      severity: 'error',
      from: { path: '^src/(feed-format|clients)/' },
      to: { path: '^src/base/[^/]+/' },
    },
    {
      name: 'read-imports',
      comment:
        'How a file is read depends only on columns, formats and texts of cells, not on issues or faults.',
      severity: 'error',
      from: { path: '^src/feed-format/read/' },
      to: {
        path: '^src/feed-format/[^/]+$',
        pathNot:
          '^src/feed-format/(availability|clean-cell|columns|currency-signs|decimal-comma|delimiter|format-definition|' +
          'load-options|parse-price|quantity|report-columns|text|text-marks)\\.ts$',
      },
    },
    {
      name: 'config-imports',
      severity: 'error',
      from: { path: '^src/config\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(base|feed-format)/[^/]+$' },
    },
    {
      name: 'layout-is-chosen-once',
      comment:
        'How products are stored is chosen in src/base/db/layout/product-layout.ts: call its functions, or add one to both layouts. Only statements ' +
        'of src/catalog/products/pages that cannot be one have a form for each.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(base/db/layout|operation/database/distribution|catalog/products/pages)/',
      },
      to: {
        path: '^src/base/db/layout/',
        pathNot: '^src/base/db/layout/(product-layout|layout-interface|copy-products)\\.ts$',
      },
    },
    {
      name: 'console-imports',
      comment:
        'The console is a client: it knows the service by the document, and how files are read by feed-format and workbook.',
      severity: 'error',
      from: { path: '^src/clients/console/' },
      to: { path: '^src/', pathNot: '^src/(clients/(console|workbook)|feed-format)/' },
    },
    {
      name: 'console-is-bundled',
      comment: 'The console runs in the browser: src/http/pages serves its bundle.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/clients/console/' },
      to: { path: '^src/clients/console/' },
    },
    {
      name: 'no-test-code',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts)/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
