/** Maximum depth of addresses below /console: views have at most five segments, and the console reports longer ones as unknown. */
export const consoleDepthMax = 17;

/**
 * Renders the shell of the console, without inline scripts or styles.
 * @param toRoot - relative path to the root of the service
 * @param paths - of the files; the console loads the worker only for a workbook
 */
export function renderShell(
  toRoot: string,
  paths: { styles: string; script: string; workbookWorker: string },
): string {
  const address = (path: string) => toRoot + path.slice(1);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="referrer" content="no-referrer">
    <title>Console</title>
    <link rel="icon" href="data:,">
    <!-- React Aria would add its styles inline, which the policy forbids, where this id is missing. -->
    <link id="react-aria-pressable-style" rel="stylesheet" href="${address(paths.styles)}">
    <script type="module" src="${address(paths.script)}"></script>
  </head>
  <body>
    <div id="console" data-workbook-worker="${paths.workbookWorker.slice(1)}"></div>
    <noscript>The console needs JavaScript. The <a href="${toRoot}docs">documentation</a> shows how to use the API without it.</noscript>
  </body>
</html>
`;
}
