import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';
import { parse } from 'yaml';
import { createOperatorServer } from '../../../src/operation/telemetry/operator-server';
import { Metrics } from '../../../src/operation/telemetry/metrics';
import { Readiness } from '../../../src/operation/telemetry/readiness';
import { createLog } from '../../../src/base/log';
import {
  connectionsOfApi,
  connectionsOfMigration,
  connectionsOfWorker,
} from '../../../src/operation/process/connections';
import { project } from '../../support/harness';
import { read, readImage, readManifests, readSettings, type Document } from './files';
import { configOf } from './settings';
import { promisedStopMilliseconds, stopReserveMilliseconds } from '../../../src/base/shutdown';

const folder = 'deploy/kubernetes';
const kustomization = parse(read(`${folder}/kustomization.yaml`));
const applied: Document[] = kustomization.resources.flatMap(readManifests);
const secrets: Document[] = readManifests('secrets.example.yaml');
const settings = readSettings(`${folder}/settings.env`);
const image = readImage();

const nameOf = ({ kind, metadata }: Document) => `${kind} ${metadata.name}`;
const all = [...applied, ...secrets].map((manifest) => [nameOf(manifest), manifest] as const);
const pods = applied
  .filter(({ spec }) => spec?.template)
  .map(
    (manifest) =>
      [nameOf(manifest), manifest.spec.template, manifest.spec.template.spec.containers[0]] as const,
  );
const serving = pods.filter(([name]) => name.startsWith('Deployment'));

const moduleOf = ({ apiVersion, kind }: Document) => `kubernetes-models/${apiVersion}/${kind}`;

/** Compiles the manifests as values of the API's types, which declare every field. */
function typeErrors(manifests: Document[]): string[] {
  const lines = manifests.map(
    (manifest, at) =>
      `export const m${at}: import('${moduleOf(manifest)}').I${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  const file = join(project, 'test/more/deploy/manifests.ts');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  };
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => name === file || disk.fileExists(name),
    getSourceFile: (name, version) =>
      name === file
        ? ts.createSourceFile(name, lines.join('\n'), version)
        : disk.getSourceFile(name, version),
  };
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** The whole environment of a container: from the image, from `envFrom`, and its own. */
function environmentOf(container: Document): Record<string, string> {
  const sources = container.envFrom.map(({ configMapRef, secretRef }: Document) =>
    configMapRef ? settings : secrets.find(({ metadata }) => metadata.name === secretRef.name).stringData,
  );
  const own = (container.env ?? []).map(({ name, value }: Document) => ({ [name]: value }));
  return Object.assign({}, image.env, ...sources, ...own);
}

describe('the manifests of Kubernetes', () => {
  it('are all in the kustomization, except the example of secrets', () => {
    const files = readdirSync(join(project, folder)).filter((name) => name.endsWith('.yaml'));

    expect([...kustomization.resources, 'kustomization.yaml', 'secrets.example.yaml'].sort()).toEqual(
      files.sort(),
    );
    expect(kustomization.configMapGenerator).toEqual([
      { name: 'catalog-settings', envs: ['settings.env'] },
      { name: 'catalog-migration', envs: ['settings.env'], options: { disableNameSuffixHash: true } },
    ]);
  });

  it('have only fields of the Kubernetes API', () => {
    expect(typeErrors(all.map(([, manifest]) => manifest))).toEqual([]);
    const misspelt = structuredClone(all.find(([name]) => name === 'Deployment catalog-api')![1]);
    misspelt.spec.template.spec.containers[0].livenesProbe = {};
    expect(typeErrors([misspelt]).join('\n')).toContain('livenesProbe');
  });

  it.each(all)('%s is valid', (_, manifest) => {
    const models = createRequire(__filename)(moduleOf(manifest));

    expect(() => new models[manifest.kind](manifest).validate()).not.toThrow();
    const wrong = { ...manifest, metadata: { ...manifest.metadata, labels: 'none' } };
    expect(() => new models[manifest.kind](wrong).validate()).toThrow('labels');
  });

  it.each(pods)('%s has valid settings', (_, _template, container) => {
    const config = configOf(environmentOf(container));

    expect(config).toMatchObject({
      migratesOnStart: false,
      worksOnQueue: false,
      metrics: { host: '0.0.0.0' },
    });
    expect(config.s3).toBeDefined();
    expect(config.databaseUrl).toBeDefined();
  });

  it('migrate with a separate account, and serve with the account of the grants', () => {
    const roles = new Set(
      pods.map(([, , { args = [], envFrom }]) => [args[0], envFrom[1].secretRef.name].join(' ')),
    );
    const [service, migration] = secrets.map(({ stringData }) => new URL(stringData.DATABASE_URL).username);

    expect(roles).toEqual(
      new Set(['migrate catalog-migration', ' catalog-service', 'worker catalog-service']),
    );
    expect(migration).not.toBe(service);
    expect(read('deploy/database-grants.sql')).toContain(`to ${service};`);
  });

  it.each(pods)(
    '%s satisfies the policy `restricted`, with a read-only file system',
    (_, { spec }, container) => {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      const { runAsUser, runAsGroup } = spec.securityContext;
      expect(`${runAsUser}:${runAsGroup}`).toBe(image.user);
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(spec.automountServiceAccountToken).toBe(false);
      expect(container.resources).toMatchObject({
        requests: { memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
    },
  );

  it.each(serving)('%s is probed on the port of the service', async (_, _template, container) => {
    const metrics = new Metrics();
    const server = createOperatorServer(
      metrics,
      new Readiness(new AbortController().signal),
      createLog('silent'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const ports = Object.fromEntries(
      container.ports.map((each: Document) => [each.name, String(each.containerPort)]),
    );
    const { METRICS_PORT, PORT } = environmentOf(container);

    try {
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        const { path, port: name } = container[probe].httpGet;
        expect(ports[name]).toBe(METRICS_PORT);
        // A starting process is alive and not ready.
        const { status } = await fetch(`http://127.0.0.1:${port}${path}`);
        expect([probe, status]).toEqual([probe, probe === 'readinessProbe' ? 503 : 200]);
      }
    } finally {
      server.close();
    }
    if (ports.http !== undefined) expect(ports.http).toBe(PORT);
  });

  it.each(serving)('%s has a termination grace period', (_, { spec }, container) => {
    const { shutdownSeconds } = configOf(environmentOf(container));
    const pause = Number(container.lifecycle?.preStop.exec.command[1] ?? 0);
    const stop = Math.max(promisedStopMilliseconds, shutdownSeconds * 1000 + stopReserveMilliseconds);

    expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(pause * 1000 + stop);
    if (container.lifecycle) expect(pause).toBeGreaterThan(container.readinessProbe.periodSeconds);
  });

  it('refer to existing names and labels', () => {
    const labels = Object.fromEntries(pods.map(([name, { metadata }]) => [name, metadata.labels]));
    const api = labels['Deployment catalog-api'];
    const find = (kind: string) => applied.find((manifest) => manifest.kind === kind);

    for (const { kind, spec } of applied.filter((manifest) => manifest.kind === 'Deployment')) {
      expect([kind, spec.selector.matchLabels]).toEqual([kind, spec.template.metadata.labels]);
    }
    expect(find('Service').spec.selector).toEqual(api);
    expect(find('PodDisruptionBudget').spec.selector.matchLabels).toEqual(api);
    const target = find('HorizontalPodAutoscaler').spec.scaleTargetRef;
    expect(labels[`${target.kind} ${target.name}`]).toEqual(api);
    const [{ key, operator, values }] = find('NetworkPolicy').spec.podSelector.matchExpressions;
    expect([operator, values.toSorted()]).toEqual([
      'In',
      Object.values<Document>(labels)
        .map((each) => each[key])
        .sort(),
    ]);
    const accounts = new Set(pods.map(([, { spec }]) => spec.serviceAccountName));
    expect([...accounts]).toEqual([find('ServiceAccount').metadata.name]);
  });

  it('have retention rules, the same in all processes: any of them may prune', () => {
    const rules = serving.map(([, , container]) => configOf(environmentOf(container)).retention);

    expect(settings).toMatchObject({ ROW_ISSUE_RETENTION_DAYS: '90', HISTORY_RETENTION_DAYS: '400' });
    expect(rules).toEqual(rules.map(() => ({ rowIssueDays: 90, historyDays: 400 })));
  });

  it('are scraped by their label, port and namespace', () => {
    const [job] = parse(read('deploy/prometheus/scrape-kubernetes.yaml')).scrape_configs;
    const kept = job.relabel_configs.filter(({ action }: Document) => action === 'keep');
    const [policy] = applied.filter(({ kind }) => kind === 'NetworkPolicy');

    expect(job.kubernetes_sd_configs[0].namespaces.names).toEqual([kustomization.namespace]);
    expect(kept.map(({ regex }: Document) => regex)).toEqual([
      kustomization.labels[0].pairs['app.kubernetes.io/part-of'],
      'operator',
    ]);
    for (const [name, , { ports }] of serving) {
      const names = ports.map((port: Document) => port.name);
      expect([name, names.includes('operator')]).toEqual([name, true]);
    }
    expect(JSON.stringify(policy.spec.ingress)).toContain('"operator"');
  });

  it('keep the migration job independent of settings, as jobs are immutable', () => {
    const maps = Object.fromEntries(
      pods.map(([name, , { envFrom }]) => [name, envFrom[0].configMapRef.name]),
    );

    expect(maps).toEqual({
      'Job catalog-migration': 'catalog-migration',
      'Deployment catalog-api': 'catalog-settings',
      'Deployment catalog-worker': 'catalog-settings',
    });
  });

  it('need at most the connections of docs/how-to/deploy.md, also during an update', () => {
    const [api, worker] = serving.map(([, , container]) => configOf(environmentOf(container)));
    const { maxReplicas } = applied.find(({ kind }) => kind === 'HorizontalPodAutoscaler').spec;
    const specs = serving.map(([name]) => applied.find((manifest) => nameOf(manifest) === name).spec);
    const [ofApi, ofWorker] = [connectionsOfApi(api!), connectionsOfWorker(worker!)];
    const [apis, workers] = [maxReplicas, specs[1].replicas].map(
      (count: number, at) => count + Number(specs[at].strategy.rollingUpdate.maxSurge),
    );
    const all = apis! * ofApi + workers! * ofWorker + connectionsOfMigration;

    expect(worker!.databaseConnections).toBe(worker!.concurrentRuns + 2);
    expect(read('docs/how-to/deploy.md').replaceAll(/\s+/g, ' ')).toContain(
      `${apis} × ${ofApi} + ${workers} × ${ofWorker} + ${connectionsOfMigration} = ${all} connections`,
    );
  });

  it('leave the number of API processes to the autoscaler, and keep it during updates', () => {
    const { spec } = applied.find((manifest) => nameOf(manifest) === 'Deployment catalog-api');

    expect(spec.replicas).toBeUndefined();
    expect(spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
    expect(applied.find(({ kind }) => kind === 'HorizontalPodAutoscaler').spec.minReplicas).toBeGreaterThan(
      1,
    );
  });
});
