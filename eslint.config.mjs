import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** There are none, so that the rule on assignments to them, one of the slowest, has nothing to find. */
const enums = 'TSEnumDeclaration';

/** The two layouts of products are told apart in their own room, and in the room of the pages that cannot be one. */
const layouts = {
  selector: 'Identifier[name=/^is(Distributed|Sharded)$/], CallExpression[callee.property.name="choose"]',
  message:
    'Do not ask how products are stored: call an operation of src/base/db/layout/product-layout.ts, or add one to both layouts.',
};

/** Statements of knex. Only a value of its builder may be a text, without bindings: `update({ at: db.raw('now()') })`. */
const rawStatements = {
  selector:
    ':matches(:not(Property, CallExpression) > *, [arguments.length>1])CallExpression[callee.property.name="raw"]',
  message:
    'Write the statement by sql`…` with its values in place, and give it to queryRows or changeRows: docs/decisions/0061-one-style-of-sql.md.',
};

const advisoryLocks = {
  selector: ':matches(Literal[value=/pg_\\w*advisory/], TemplateElement[value.raw=/pg_\\w*advisory/])',
  message:
    'Take the lock by takeLock, tryLock, lockSql or tryLockSql of src/base/db/locks.ts: docs/decisions/0062-take-locks-by-one-file.md.',
};

/** Members of pg and knex that their manuals leave out, by the ways to reach them past the types. */
const driverMembers = {
  selector: [
    'ImportDeclaration[source.value=/^(pg|knex)\\x2F/]',
    'TSQualifiedName[left.name="Knex"][right.name="Client"]',
    'TSAsExpression > MemberExpression[object.name=/^(db|trx)$/][property.name="client"]',
    'TSIntersectionType > TSTypeReference[typeName.name=/^(Client|ClientBase|PoolClient|QueryConfig|Database|Knex)$/]',
    'TSAsExpression[typeAnnotation.type="TSUnknownKeyword"] > Identifier[name=/client|connection|session|^(db|trx)$/i]',
    'TSPropertySignature[key.name=/^(processID|secretKey|sslNegotiation)$/]',
  ].join(', '),
  message:
    'Undocumented members of pg are read in src/base/db/undocumented-pg.ts, those of knex in src/base/db/dialect.ts: docs/decisions/0032-no-session-state-and-cancellation.md.',
};

/** Replaces what is restricted in these files: of several that match, the last one counts. */
const restrictSyntax = (files, ...restrictions) => ({
  files,
  rules: { 'no-restricted-syntax': ['error', enums, ...restrictions] },
});

export default tseslint.config(
  {
    ignores: [
      'dist',
      'node_modules',
      'generated',
      '.data',
      'coverage',
      'bench-results',
      'scripts/bench/peers/dist',
      // Their imports exist beside generated clients only: `make sdks` compiles them.
      'test/contract/clients',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      // A checked index or a value that a check of the table guarantees: `!` says so in one character.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      // Counting by code points is what the specification's limits mean.
      '@typescript-eslint/no-misused-spread': 'off',
      'no-restricted-syntax': ['error', enums],
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      // What an operation without parameters has, by the types made from the document.
      '@typescript-eslint/no-generated-empty-object-type': 'off',
    },
  },
  {
    // Prism, Dredd and the bench read JSON of responses, whose shape is what the test is about.
    files: ['test/**', 'scripts/**'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      // Stand-ins for instances are what tests are about.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    // Decoded twice, `100%` in a name breaks an address: the addresses know how names become segments.
    files: ['src/clients/console/**'],
    ignores: ['src/clients/console/routes.ts', 'src/clients/console/data/address.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['encodeURI', 'encodeURIComponent', 'decodeURI', 'decodeURIComponent'].map((name) => ({
          name,
          message: 'Use addressOf of routes.ts; views get their parameters decoded.',
        })),
      ],
    },
  },
  restrictSyntax(['src/**'], layouts, rawStatements, advisoryLocks, driverMembers),
  restrictSyntax(
    ['src/base/db/layout/**', 'src/catalog/products/pages/**'],
    rawStatements,
    advisoryLocks,
    driverMembers,
  ),
  restrictSyntax(['src/base/db/locks.ts', 'src/base/db/functions/**'], layouts, rawStatements, driverMembers),
  restrictSyntax(
    ['src/base/db/undocumented-pg.ts', 'src/base/db/dialect.ts', 'src/base/db/knex-postgres.d.ts'],
    layouts,
    rawStatements,
    advisoryLocks,
  ),
  {
    // Its packages are installed by `make bench-peers` only: without them, there are no types to check.
    files: ['scripts/bench/peers/*.ts'],
    extends: [tseslint.configs.disableTypeChecked],
    rules: {
      // NestJS: classes as values for injection, and modules without members.
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
    },
  },
  {
    // What tools load as plain JavaScript.
    files: ['**/*.mjs', '**/*.cjs', 'scripts/spectral/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: { module: 'writable', process: 'readonly', require: 'readonly' } },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
);
