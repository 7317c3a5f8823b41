import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser, Copy } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { engines, scripts } from '../../../package.json';
import { project } from '../../support/harness';
import { read, readImage } from './files';
import { configOf } from './settings';

const text = read('Dockerfile');
const dockerfile = DockerfileParser.parse(text);
const image = readImage();

/** Paths that are copied into the image. */
const copied = dockerfile
  .getInstructions()
  .filter((instruction) => instruction instanceof Copy)
  .filter((copy) => copy.getFlags().every((flag) => flag.getName() !== 'from'))
  .flatMap((copy) => copy.getArguments().slice(0, -1))
  .map((argument) => argument.getValue());

describe('the Dockerfile', () => {
  it('passes the linter', () => {
    expect(validate(text)).toEqual([]);
  });

  it('pins a full version of the base image, on the newest major version that is tested', () => {
    const images = dockerfile.getFROMs().map((from) => from.getImage());
    const base = /^ARG NODE_IMAGE=node:(\d+)\.\d+\.\d+-[a-z]+-slim$/m.exec(text);
    const tested = /^node_versions := ([\d ]+)$/m.exec(read('Makefile'))![1]!.split(' ');

    expect(new Set(images)).toEqual(new Set(['${NODE_IMAGE}']));
    expect(base?.[1]).toBe(tested.at(-1));
    expect(tested[0]).toBe(/^>=(\d+)\./.exec(engines.node)![1]);
    expect(read('docs/how-to/deploy.md')).toContain(`Node.js ${base?.[1]} and what`);
  });

  it('copies existing paths only, and .dockerignore excludes all others', () => {
    const letThrough = read('.dockerignore')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));

    expect(copied.filter((path) => !existsSync(join(project, path)))).toEqual([]);
    expect(letThrough).toEqual(['*', ...[...new Set(copied)].map((path) => `!${path}`)]);
  });

  it('runs the service with the flags of npm start, without npm', () => {
    const [environment, command] = scripts.start.split(/ (?=exec )/) as [string, string];
    expect(`exec ${image.entrypoint.join(' ')}`).toBe(command);
    const variables = Object.entries(image.env).map(([name, value]) => `${name}=${value}`);
    expect(variables).toEqual(expect.arrayContaining(environment.split(' ')));
  });

  it('runs as a numeric non-root user', () => {
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(image.stage.filter((instruction) => instruction.getKeyword() === 'USER')).toHaveLength(1);
  });

  it('has valid settings, and exposes neither probes nor metrics', () => {
    const config = configOf(image.env);

    expect(config).toMatchObject({ host: '0.0.0.0', metrics: { host: '127.0.0.1' } });
    const exposed = image.stage.find((instruction) => instruction.getKeyword() === 'EXPOSE')!;
    expect(exposed.getArguments().map((argument) => argument.getValue())).toEqual([String(config.port)]);
  });

  it('has the same name wherever it is used', () => {
    const { version } = parse(read('package.json'));
    const [{ newTag }] = parse(read('deploy/kubernetes/kustomization.yaml')).images;

    expect(newTag).toBe(version);
    expect(read('compose.yaml')).toContain(`image: partner-catalog-integration-service:${version}\n`);
  });
});
