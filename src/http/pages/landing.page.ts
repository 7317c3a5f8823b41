import { commandPath, type OfferedCommand } from './offered-command';

/**
 * Renders the landing page, without scripts: first for people with a file, then for developers.
 * @param styles - path of the stylesheet of the console
 */
export function renderLanding(styles: string, command: OfferedCommand): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Partner catalog</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${styles.slice(1)}">
  </head>
  <body>
    <main class="landing">
      <header>
        <h1>Your products in the catalog, without surprises</h1>
        <p class="lead">Send the product list that you have: a spreadsheet or an export of your shop. You see what would change
        before anything changes, and what needs to be mended afterwards.</p>
        <p class="actions">
          <a class="button primary" href="console">Open the console</a>
          <a class="button" href="#developers">I am a developer</a>
        </p>
        <p class="muted">You sign in with a key. You get it from the operator, the team that runs this catalog and invited you.</p>
      </header>
      <ol class="landing-steps">
${steps.map(renderStep).join('\n')}
      </ol>
      <section class="card">
        <h2>Good to know</h2>
        <dl class="landing-answers">
${answers.map(([question, answer]) => `          <div><dt>${question}</dt><dd>${answer}</dd></div>`).join('\n')}
        </dl>
      </section>
${renderDevelopers(command)}
    </main>
  </body>
</html>
`;
}

interface Step {
  title: string;
  text: string;
  /** What the console shows in this step, a line each; the last part of a line is at its end. */
  picture: [name: string, value: string, kind?: 'good' | 'bad' | 'watch'][];
}

const steps: Step[] = [
  {
    title: 'Send your file',
    text: 'Drop an Excel workbook or a CSV file. The console recognizes its columns, and asks where it is in doubt.',
    picture: [
      ['Article no.', '→ SKU'],
      ['Description', '→ Name'],
      ['Price incl. VAT', '→ Price?', 'watch'],
    ],
  },
  {
    title: 'See what would change',
    text: 'New, changed and withdrawn products, each with its old and new value. Nothing has changed yet.',
    picture: [
      ['Two-person tent', '€199.90 → €189.90', 'good'],
      ['Head lamp', 'new', 'good'],
      ['Gas stove', 'withdrawn', 'bad'],
    ],
  },
  {
    title: 'Load it, and mend the rest',
    text: 'Rows with a mistake are left out, never loaded halfway. You see why, and correct them in place.',
    picture: [
      ['1,987 rows', 'loaded', 'good'],
      ['13 rows', 'left out', 'bad'],
      ['Row 42: “on request”', 'not a price', 'watch'],
    ],
  },
];

const renderStep = ({ title, text, picture }: Step) => `        <li class="card">
          <h2>${title}</h2>
          <p>${text}</p>
          <ul class="picture">
${picture.map(([name, value, kind = '']) => `            <li><span>${name}</span> <span class="badge ${kind}">${value}</span></li>`).join('\n')}
          </ul>
        </li>`;

const answers: [question: string, answer: string][] = [
  ['Can I undo it?', 'Yes. Each run can be undone, with a preview of what returns to its former state.'],
  [
    'Do I have to change my file?',
    'No. Tell the console once how your columns are named; it remembers that for the next file.',
  ],
  [
    'Can it be fetched every day?',
    'Yes. Enter the address of your export and a time: the service fetches and loads it.',
  ],
  [
    'I have no key.',
    'Ask the operator for one. It is shown only once: keep it like a password. A lost key is replaced by a new one.',
  ],
];

const renderDevelopers = (command: OfferedCommand) => `      <section class="card" id="developers">
        <h2>For developers</h2>
        <p>Everything that the console does is an operation of the API.</p>
        <p class="actions">
          <a class="button" href="docs">API documentation</a>
          <a class="button" href="openapi.yaml">OpenAPI document</a>
        </p>
        <h3>The same three steps from a shell</h3>
        <p>The address of this service is in <code>URL</code>, your key in <code>KEY</code>:</p>
        <pre tabindex="0"><code># 1. Store the file: nothing is loaded yet
curl -H "x-api-key: $KEY" -F 'partner_name=Acme Outdoor' -F 'file=@feed.csv;type=text/csv' $URL/feeds/upload
# 2. Preview the run: every change, before and after
curl -H "x-api-key: $KEY" -X POST $URL/jobs/JV00001/plan
# 3. Run it, and get the skipped rows as a file
curl -H "x-api-key: $KEY" -X POST $URL/jobs/JV00001/run
curl -H "x-api-key: $KEY" $URL/jobs/JV00001/rejects.csv</code></pre>
        <h3>Or by one command</h3>
        <p><a href="${commandPath.slice(1)}">${command.file}</a> ${command.version} is one file, and needs Node.js ${command.node.replace('>=', '')} or newer. Download it, check that it arrived whole, and use it:</p>
        <pre tabindex="0"><code>curl -O $URL${commandPath}
echo '${command.sha256}  ${command.file}' | sha256sum -c
export CATALOG_URL=$URL CATALOG_API_KEY=$KEY
node ${command.file} upload feed.csv --partner 'Acme Outdoor'</code></pre>
        <h3>When a request is refused</h3>
        <p><code>detail</code> says what to do, and the header <code>x-error-code</code> names the reason for programs.
        Repeat 429 and 503 after <code>Retry-After</code> seconds. Tell the operator the <code>x-request-id</code> of a response.</p>
      </section>`;
