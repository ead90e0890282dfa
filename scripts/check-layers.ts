/**
 * The import rule. A folder of `src/` imports only from itself and from the layers below it; inside the packages that have
 * sub-packages the same holds for those. Prints each offence with its line and fails.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

type Layers = readonly string[]

/** From the ground up. */
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
  'console',
  'cli',
]

/** Sub-packages, from the ground up. Files at the root of a package stand above all of its sub-packages. */
const subPackages: Readonly<Record<string, Layers>> = {
  apiserver: [
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
    'threads',
    'logging',
    'findings',
    'gates',
    'schedule',
    'observability',
    'leases',
    'inputs',
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
  simulate: ['environment', 'scorecard', 'declarative', 'faults'],
}

/** The embedded API server is tried by the client and the cache, too: they are what most callers reach it with. */
const usedByTests: Readonly<Record<string, Layers>> = { apiserver: ['client', 'cache'] }

const root = fileURLToPath(new URL('..', import.meta.url))
const importPattern = /(?:from|import\(|import)\s*['"](\.{1,2}\/[^'"]+)['"]/g
const offences: string[] = []

const named = [...layers, ...Object.entries(subPackages).flatMap(([name, list]) => list.map((sub) => `${name}/${sub}`))]
for (const name of named) {
  if (!existsSync(path.join(root, 'src', name)))
    offences.push(`src/${name} is in the list of layers, but does not exist`)
}

for (const file of globSync('src/**/*.ts', { cwd: root }).map((name) => name.split(path.sep).join('/'))) {
  const [, layer = '', ...inner] = file.split('/')
  if (!layers.includes(layer)) {
    offences.push(`${file}: src/${layer} is not in the list of layers (scripts/check-layers.ts)`)
    continue
  }
  readFileSync(path.join(root, file), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      for (const [, target = ''] of line.matchAll(importPattern)) {
        const problem = offenceOf(file, layer, inner, path.posix.join(path.posix.dirname(file), target))
        if (problem) offences.push(`${file}:${index + 1}: ${problem}`)
      }
    })
}

function offenceOf(file: string, layer: string, inner: readonly string[], target: string): string | undefined {
  const [top, other = '', ...within] = target.split('/')
  const isTest = file.endsWith('.test.ts')
  // Tests may use what crosses folders (certificates, vectors); the product may not.
  if (top !== 'src') return isTest ? undefined : `imports ${target} from outside src/`
  if (other !== layer) {
    const isBelow = layers.indexOf(other) < layers.indexOf(layer)
    return isBelow || (isTest && usedByTests[layer]?.includes(other))
      ? undefined
      : `src/${layer} may not import from src/${other}`
  }
  const order = subPackages[layer]
  if (!order || isTest) return undefined
  const rank = (segments: readonly string[]): number =>
    segments.length === 1 ? order.length : order.indexOf(segments[0] ?? '')
  const [own, theirs] = [rank(inner), rank(within)]
  if (own < 0) return `src/${layer}/${inner[0]} is not in the list of sub-packages (scripts/check-layers.ts)`
  return theirs <= own ? undefined : `src/${layer}/${inner[0]} may not import from src/${layer}/${within[0]}`
}

if (offences.length > 0) {
  console.error(offences.join('\n'))
  process.exitCode = 1
}
