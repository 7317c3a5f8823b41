import { commandPath, type OfferedCommand } from './offered-command';

/**
 * Renders the landing page, without scripts.
 * @param styles - path of the stylesheet of the console
 */
export function renderLanding(styles: string, command: OfferedCommand): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Partner Catalog Integration Service</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${styles.slice(1)}">
  </head>
  <body>
    <main class="landing">
      <header>
        <h1>Partner Catalog Integration Service</h1>
        <p class="lead">Send product feeds of any size and quality. See what would change, load it, mend what was skipped.</p>
        <p class="actions">
          <a class="button primary" href="console">Open the console</a>
          <a class="button" href="docs">Read the API documentation</a>
          <a class="button" href="openapi.yaml">OpenAPI document</a>
        </p>
      </header>
      <section class="card">
        <h2>The first upload in four steps</h2>
        <p>In the console: drop the file, look at the preview, run. Or from a shell, with the address of this service in
        <code>URL</code> and your API key in <code>KEY</code>:</p>
        <ol class="walk">
          <li><strong>Store the file.</strong> Nothing is loaded yet.
            <pre tabindex="0"><code>curl -H "x-api-key: $KEY" -F 'partner_name=Acme Outdoor' -F 'file=@feed.csv;type=text/csv' $URL/feeds/upload</code></pre></li>
          <li><strong>Preview the run.</strong> The response has every change, before and after.
            <pre tabindex="0"><code>curl -H "x-api-key: $KEY" -X POST $URL/jobs/JV00001/plan</code></pre></li>
          <li><strong>Run the validation job.</strong> It cleans, validates and loads the rows.
            <pre tabindex="0"><code>curl -H "x-api-key: $KEY" -X POST $URL/jobs/JV00001/run</code></pre></li>
          <li><strong>Mend what was skipped.</strong> The file has the skipped rows and why; correct it and upload it.
            <pre tabindex="0"><code>curl -H "x-api-key: $KEY" $URL/jobs/JV00001/rejects.csv</code></pre></li>
        </ol>
      </section>
      <section class="card">
        <h2>The command line</h2>
        <p><a href="${commandPath.slice(1)}">${command.file}</a> ${command.version} does all four steps with one command, and shows
        what was skipped. It is one file and needs Node.js ${command.node.replace('>=', '')} or newer, and nothing else. Download it, check that it arrived
        whole, and use it:</p>
        <pre tabindex="0"><code>curl -O $URL${commandPath}
echo '${command.sha256}  ${command.file}' | sha256sum -c
export CATALOG_URL=$URL CATALOG_API_KEY=$KEY
node ${command.file} upload feed.csv --partner 'Acme Outdoor'</code></pre>
      </section>
      <div class="columns">
        <section class="card">
          <h2>Errors</h2>
          <p>A refused request says what to do in <code>detail</code>; a 422 lists every fault with its place.
          For programs, the header <code>x-error-code</code> names the reason.</p>
          <ul>
            <li><code>401</code>: the <code>x-api-key</code> header is missing or unknown.</li>
            <li><code>403</code>: the key is read-only, or of another partner.</li>
            <li><code>409</code>: the state does not allow it; the text names the way out.</li>
            <li><code>429</code>, <code>503</code>: repeat after <code>Retry-After</code> seconds.</li>
          </ul>
          <p>Every response has an <code>x-request-id</code>: tell it to the operator.</p>
        </section>
        <section class="card">
          <h2>Webhooks</h2>
          <p>Instead of asking for the state of a job, receive <code>job.completed</code>, <code>job.failed</code>,
          <code>job.reverted</code>, <code>feed.uploaded</code> and <code>order.created</code>. Each is signed by the
          headers of Standard Webhooks and repeated until your endpoint answers 2xx.</p>
          <p>The <a href="docs">documentation</a> has the payload of each event.</p>
        </section>
      </div>
    </main>
  </body>
</html>
`;
}
