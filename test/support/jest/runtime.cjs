const { createRequire, isBuiltin } = require('node:module');
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
require('./compile-once.cjs');

/** Modules that Jest provides. */
const ofJest = new Set(['@jest/globals', '@jest/expect', 'expect']);

/** Whether a module is installed: neither a file of the project nor a part of Node.js. */
const isPackage = (name) => /^[a-z@]/i.test(name) && !isBuiltin(name) && !ofJest.has(name);

/** Compiled functions of modules, by file and content: a reloaded file is not compiled again. */
const compiled = new Map();

/** Loads packages by Node.js once for all test files of a process, which for each file took longer than most tests. */
class SharedPackages extends Runtime {
  constructor(...options) {
    super(...options);
    const { executor } = this;
    executor.compile = (source, filename) => {
      const known = compiled.get(filename);
      if (known?.source === source) return known.module;
      const module = compileFunction(source, executor.injectedModuleParameters, { filename });
      compiled.set(filename, { source, module });
      return module;
    };
  }

  requireModuleOrMock(from, name) {
    return isPackage(name) ? createRequire(from)(name) : super.requireModuleOrMock(from, name);
  }
}

module.exports = SharedPackages;
