/** Appends each response of a test process's HTTP servers to RECORDED_RESPONSES, as a line of JSON with the test's name. */
const { Buffer } = require('node:buffer');
const { appendFileSync } = require('node:fs');
const { Server } = require('node:http');

const jestState = Symbol.for('$$jest-matchers-object');
const { emit } = Server.prototype;
let requests = 0;

Server.prototype.emit = function (event, request, response, ...rest) {
  if (event === 'request') record(request, response);
  return emit.call(this, event, request, response, ...rest);
};

function record(request, response) {
  const number = requests++;
  const test = globalThis[jestState]?.state.currentTestName ?? 'before the tests';
  const chunks = [];
  for (const name of ['write', 'end']) {
    const method = response[name];
    response[name] = function (chunk, ...given) {
      if (chunk && typeof chunk !== 'function') chunks.push(Buffer.from(chunk));
      return method.call(this, chunk, ...given);
    };
  }
  response.once('close', () => {
    const { method, url } = request;
    const { statusCode: status } = response;
    const body = Buffer.concat(chunks).toString('base64');
    const line = { number, test, title: `${method} ${url}`, status, headers: response.getHeaders(), body };
    appendFileSync(process.env.RECORDED_RESPONSES, `${JSON.stringify(line)}\n`);
  });
}
