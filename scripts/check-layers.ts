/**
 * The import rule. A folder of `src/` imports only from itself and from the layers below it; inside the packages that have
 * sub-packages the same holds for those, at every depth. Prints each violation with its line and fails.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

type Layers = readonly string[]

/** The lowest first. */
const layers: Layers = [
  'clock',
  'kube',
  'system',
  'pki',
  'transport',
  'apiserver',
  'client',
  'cache',
  'sidecar',
  'operator',
  'manager',
  'contract',
  'simulate',
  'render',
  'platform',
  'workloads',
  'console',
  'deploy',
  'cli',
]

/**
 * Sub-packages, from the ground up. Files at the root of a package stand above all of its sub-packages, except for those
 * that are listed: what all of them use, such as the errors of the package.
 */
const subPackages: Readonly<Record<string, Layers>> = {
  kube: [
    'muster-error.ts',
    'errors.ts',
    'json.ts',
    'json-member.ts',
    'object.ts',
    'kind.ts',
    'schema.ts',
    'types',
    'text',
    'go',
    'units',
    'meta',
    'selector',
    'scheduling',
    'patch',
    'yaml',
    'validation',
    'cel',
    'structural',
    'crd',
    'apply',
    'protobuf',
  ],
  apiserver: [
    'errors.ts',
    'errors',
    'codec',
    'storage',
    'access',
    'printer',
    'catalog',
    'webhook',
    'kinds',
    'crd',
    'representation',
    'cluster',
    'policy',
    'write',
    'admission',
    'must-gather',
    'discovery',
    'read',
    'controllers',
    'bootstrap',
    'subresources',
    'server',
    'http',
    'simulated',
  ],
  manager: [
    'errors.ts',
    'threads',
    'logging',
    'findings',
    'gates',
    'schedule',
    'observability',
    'leases',
    'inputs',
    'tasks',
    'coordinators',
    'run',
    'memory',
    'placement',
    'webhooks',
    'budgets',
    'hosting',
    'plan',
    'config',
    'watchdog',
    'isolation',
    'loading',
    'runtime',
    'alone',
    'testing',
  ],
  cache: ['errors.ts', 'key.ts', 'need.ts', 'decode'],
  operator: [
    'errors.ts',
    'option-names.ts',
    'placement-role.ts',
    'author-code.ts',
    'author-place.ts',
    'failure.ts',
    'suspended.ts',
    'view',
    'live.ts',
    'task',
    'kind',
    'config.ts',
    'coordinator',
    'plan.ts',
    'edits.ts',
    'dependent',
    'embedded',
    'ledger.ts',
    'lifecycle',
    'step-graph.ts',
    'controller.ts',
    'status.ts',
    'reconcile',
  ],
  render: [
    'errors.ts',
    'version',
    'archive',
    'schema',
    'manifests',
    'template',
    'functions',
    'engine',
    'generated',
    'chart',
    'kustomize',
    'source',
    'worker',
  ],
  platform: [
    'errors.ts',
    'crd',
    'helm-release',
    'image',
    'import',
    'phase',
    'installation',
    'protection',
    'catalogue',
    'components',
    'facade',
    'bundled',
  ],
  simulate: ['errors.ts', 'environment', 'scorecard', 'declarative', 'faults'],
  workloads: ['errors.ts', 'core', 'replay', 'quota', 'configuration', 'appwrapper', 'scaler', 'forecast'],
  cli: [
    'errors.ts',
    'error-table.ts',
    'command',
    'terminal',
    'module',
    'cluster',
    'envtest',
    'manager',
    'up',
    'init',
    'generate',
    'testing',
    'contract',
    'render',
    'platform',
    'workloads',
  ],
  contract: ['errors.ts', 'text', 'declaration', 'directory', 'offline', 'external'],
  'kube/cel': ['value', 'syntax', 'library', 'check', 'evaluate', 'cost'],
  'workloads/core': ['pods', 'nodes', 'quota', 'queue', 'phases', 'scale'],
  'manager/isolation': ['protocol', 'sandbox', 'guest', 'launch', 'misbehaving-guest'],
  'apiserver/kinds': [
    'strategy',
    'values',
    'container',
    'volume',
    'pod',
    'workload',
    'network',
    'storage',
    'policy',
    'access',
    'core',
  ],
  'apiserver/admission': ['webhook', 'policy', 'quota', 'pod', 'storage', 'access'],
  'apiserver/simulated': ['controller', 'scheduler', 'node', 'workload', 'job', 'service', 'storage'],
}

/**
 * Imports that stay forbidden whatever the order of the layers. The client, the cache, the sidecar, the kit and the manager run
 * against any API server: a program that uses them must not load an embedded one, and an embedded one needs no client.
 */
const forbidden: Readonly<Record<string, Layers>> = {
  client: ['apiserver'],
  cache: ['apiserver'],
  sidecar: ['apiserver'],
  operator: ['apiserver'],
  manager: ['apiserver'],
  apiserver: ['client', 'cache', 'sidecar', 'operator', 'manager'],
}

/** The exceptions: each runs an embedded API server, or a part of one, and is loaded on demand. */
const embedding: readonly string[] = [
  // The test environment and the test control plane.
  'src/manager/testing/',
  // A dry run defaults objects as the API server will: by the rules of the embedded one.
  'src/manager/plan/filling.ts',
]

/** Tests of the embedded API server use the client and the cache, too: most callers reach it through these. */
const usedByTests: Readonly<Record<string, Layers>> = { apiserver: ['client', 'cache'] }

const root = fileURLToPath(new URL('..', import.meta.url))
const importPattern = /(?:from|import\(|import)\s*['"](\.{1,2}\/[^'"]+)['"]/g
const offences: string[] = []

const named = [...layers, ...Object.entries(subPackages).flatMap(([name, list]) => list.map((sub) => `${name}/${sub}`))]
for (const name of named) {
  if (!existsSync(path.join(root, 'src', name)))
    offences.push(`src/${name} is in the list of layers, but does not exist`)
}
for (const name of embedding) {
  if (!existsSync(path.join(root, name))) offences.push(`${name} is an exception, but does not exist`)
}

for (const file of globSync('src/**/*.ts', { cwd: root }).map((name) => name.split(path.sep).join('/'))) {
  const unlisted = unlistedFolderOf(file)
  if (unlisted) {
    offences.push(`${file}: src/${unlisted} is not in the list of layers (scripts/check-layers.ts)`)
    continue
  }
  readFileSync(path.join(root, file), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      for (const [, target = ''] of line.matchAll(importPattern)) {
        const problem = offenceOf(file, path.posix.join(path.posix.dirname(file), target))
        if (problem) offences.push(`${file}:${index + 1}: ${problem}`)
      }
    })
}

// The compiler does not see modules that are named for a program that a test starts, a thread or a generated file.
const namedPattern = /(?:import\.meta\.resolve\(|new URL\()['"](\.{1,2}\/[^'"]+\.ts)['"]/g
for (const file of globSync('{src,test,examples,scripts,bench}/**/*.ts', { cwd: root })) {
  for (const [, target = ''] of readFileSync(path.join(root, file), 'utf8').matchAll(namedPattern)) {
    const found = path.join(root, path.dirname(file), target)
    if (!existsSync(found)) offences.push(`${file}: names ${target}, which does not exist`)
  }
}

/** The order of the folders inside `folder`, which is a path below `src/`; the empty path is `src/` itself. */
function orderIn(folder: string): Layers | undefined {
  return folder === '' ? layers : subPackages[folder]
}

/** The first folder on the way to `file` that has no place in the order of its parent. */
function unlistedFolderOf(file: string): string | undefined {
  const folders = file.split('/').slice(1, -1)
  return folders
    .map((_name, depth) => folders.slice(0, depth + 1).join('/'))
    .find((folder) => {
      const parent = path.posix.dirname(folder)
      return orderIn(parent === '.' ? '' : parent)?.includes(path.posix.basename(folder)) === false
    })
}

function offenceOf(file: string, target: string): string | undefined {
  const [, ...own] = file.split('/')
  const [top, ...theirs] = target.split('/')
  const isTest = file.endsWith('.test.ts')
  // Tests may use shared fixtures (certificates, vectors); product code may not.
  if (top !== 'src') return isTest ? undefined : `imports ${target} from outside src/`
  const shared = own.findIndex((name, depth) => name !== theirs[depth])
  const order = orderIn(own.slice(0, shared).join('/'))
  if (!order || (isTest && (shared > 0 || usedByTests[own[0] ?? '']?.includes(theirs[0] ?? '')))) return undefined
  const rank = (segments: readonly string[]): number => {
    const place = order.indexOf(segments[shared] ?? '')
    if (place >= 0) return place
    return segments[shared] === 'errors.ts' ? -1 : order.length
  }
  const isForbidden =
    !isTest && forbidden[own[0] ?? '']?.includes(theirs[0] ?? '') && !embedding.some((name) => file.startsWith(name))
  return rank(theirs) <= rank(own) && !isForbidden
    ? undefined
    : `src/${own.slice(0, shared + 1).join('/')} may not import from src/${theirs.slice(0, shared + 1).join('/')}`
}

if (offences.length > 0) {
  console.error(offences.join('\n'))
  process.exitCode = 1
}
