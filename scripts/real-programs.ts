/**
 * The programs that the suites of `npm run test:real` need. All are built or fetched before the first test, whose time
 * limit is too short for a build: on a new machine kube-apiserver takes ten minutes of two cores, kubectl two.
 *
 * A test that needs a missing program (`readyVariable` is set by then) fails at once, and builds nothing.
 */
import { describeError } from '../src/kube/muster-error.ts'
import {
  type Environment,
  realBinaries,
  realHelm,
  realHelmEngine,
  realKubectl,
  realKustomize,
  realRegistry,
} from './real-binaries.ts'
import { containersUnusable, realContainers } from './real-containers.ts'
import { controllerRuntimeSuites } from './real-controller-runtime.ts'
import { languageProjects } from './real-languages.ts'
import { realChromium } from './real-chromium.ts'
import { realPromtool } from './real-promtool.ts'
import { realRedis } from './real-redis.ts'

export interface RealProgram {
  readonly name: string
  /**
   * Paths of the suites that need it. `test/offline/real-programs.test.ts` compares them with the imports of the
   * suites.
   */
  readonly suites: readonly string[]
  provide(this: void, env: Environment): Promise<unknown>
  /** Why this machine cannot use it: its suites are skipped. @default it can */
  unusable?(this: void): string | undefined
}

/** Besides kube-apiserver and etcd, which every suite needs. */
export const realPrograms: readonly RealProgram[] = [
  {
    name: 'kubectl',
    suites: [
      'test/real/contract.test.ts',
      'test/real/envtest.test.ts',
      'test/real/kubectl.test.ts',
      'test/real/platform.test.ts',
      'test/real/protection.test.ts',
      'test/real/render.test.ts',
      'test/real/up.test.ts',
    ],
    provide: realKubectl,
  },
  {
    name: 'helm',
    suites: [
      'test/manager/story.test.ts',
      'test/real/charts.test.ts',
      'test/real/helm-release.test.ts',
      'test/real/installation.test.ts',
      'test/real/registry.test.ts',
      'test/real/render.test.ts',
    ],
    provide: realHelm,
  },
  { name: 'kustomize', suites: ['test/real/kustomize.test.ts'], provide: realKustomize },
  {
    name: 'registry',
    suites: ['test/real/installation.test.ts', 'test/real/registry.test.ts'],
    provide: realRegistry,
  },
  { name: 'helm-engine', suites: ['test/real/templates.test.ts'], provide: realHelmEngine },
  { name: 'redis', suites: ['examples/database/real.test.ts', 'test/real/sidecar.test.ts'], provide: realRedis },
  {
    name: 'the suites of controller-runtime',
    suites: ['test/real/envtest.test.ts'],
    provide: controllerRuntimeSuites,
  },
  {
    name: 'projects in Python, Java and Rust',
    suites: ['test/real/envtest.test.ts'],
    provide: languageProjects,
  },
  {
    name: 'buildah, runc and an image of Node',
    suites: ['test/real/image.test.ts'],
    provide: realContainers,
    unusable: containersUnusable,
  },
  { name: 'promtool', suites: ['test/real/monitoring.test.ts'], provide: realPromtool },
  { name: 'chromium', suites: ['test/real/console.test.ts'], provide: realChromium },
]

export interface Preparation {
  readonly env?: Environment
  /** One line. @default standard error */
  readonly say?: (line: string) => void
  /** @default kube-apiserver and etcd */
  readonly servers?: RealProgram['provide']
  /** @default {@link realPrograms} */
  readonly programs?: readonly RealProgram[]
}

/**
 * `names` choose suites as vitest does: by a part of their path. All suites need the servers; when another program is
 * unavailable, that is reported, and the suites that need it fail; where the machine cannot use it, they are skipped.
 * @throws BinaryMissing
 */
export async function prepareRealPrograms(names: readonly string[], preparation: Preparation = {}): Promise<void> {
  const { env = process.env, say = sayToStderr, servers = realBinaries, programs = realPrograms } = preparation
  await reporting('kube-apiserver and etcd', say, () => servers(env))
  const isChosen = (suite: string): boolean => names.length === 0 || names.some((name) => suite.includes(name))
  for (const { name, suites, provide, unusable } of programs) {
    const chosen = suites.filter(isChosen)
    if (chosen.length === 0) continue
    const reason = unusable?.()
    if (reason !== undefined) {
      say(`${name} cannot be used here, so that ${chosen.join(' and ')} is skipped: ${reason}`)
      continue
    }
    try {
      await reporting(name, say, () => provide(env))
    } catch (error) {
      say(`${name} cannot be had, so that ${chosen.join(' and ')} will fail: ${describeError(error)}`)
    }
  }
}

/** A build or a download without output for longer looks like a hang. */
const silenceMs = 30_000

async function reporting(name: string, say: (line: string) => void, work: () => Promise<unknown>): Promise<void> {
  const started = performance.now()
  const seconds = (): number => Math.round((performance.now() - started) / 1000)
  const timer = setInterval(() => say(`${name}: still being built or fetched after ${seconds()} s`), silenceMs)
  try {
    await work()
    say(`${name} ready${seconds() > 0 ? ` after ${seconds()} s` : ''}`)
  } finally {
    clearInterval(timer)
  }
}

function sayToStderr(line: string): void {
  process.stderr.write(`${line}\n`)
}
