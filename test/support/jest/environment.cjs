const { AsyncLocalStorage } = require('node:async_hooks');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

const jestState = new Set(['EVENT_HANDLERS', 'JEST_STATE_SYMBOL']);

/** Async hooks in use. Each slows down every promise of the process until it is disabled; Jest has one for each file. */
const storages = new Set();
for (const name of ['run', 'enterWith']) {
  const method = AsyncLocalStorage.prototype[name];
  AsyncLocalStorage.prototype[name] = function (...given) {
    storages.add(this);
    return method.apply(this, given);
  };
}

/** The globals of Node.js itself, as in the service: shared packages then use the same `Error` and `Array` as the tested code. */
class NodeGlobals {
  global = globalThis;
  // Jest's legacy timers.
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.env = { ...process.env };
    this.exit = process.exit;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  /** Removes references from survivors of a file, such as a timer, to its test, so that its modules can be collected. */
  handleTestEvent({ name }, { rootDescribeBlock }) {
    if (name === 'run_finish') forget(rootDescribeBlock);
  }

  /** Restores the environment of the process after a file. */
  async teardown() {
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env))
      if (!(name in this.env)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.env);
    for (const storage of storages) storage.disable();
    storages.clear();
    // Jest adds one for each file, on top of the last.
    process.exit = this.exit;
    // Jest keeps its state there: it would call handlers of this file for later ones, and leak everything.
    for (const key of Object.getOwnPropertySymbols(globalThis)) {
      if (jestState.has(key.description)) Reflect.deleteProperty(globalThis, key);
    }
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** None: `runtime.cjs` compiles for the globals of the process. */
  getVmContext() {
    return null;
  }
}

function forget({ hooks, children }) {
  for (const each of [...hooks, ...children]) {
    if (each.type === 'describeBlock') forget(each);
    else Object.assign(each, { fn: null, asyncError: null });
  }
}

module.exports = NodeGlobals;
