/**
 * The programs that the suites of `npm run test:real` need. All are built or fetched before the first test, which has a time
 * limit that no build keeps to: on a new machine kube-apiserver takes ten minutes of two cores, kubectl two.
 *
 * A test that needs a program which is not here (`readyVariable` is set by then) fails at once, and builds nothing.
 */
import { describeError } from '../src/kube/errors.ts'
import { type Environment, realBinaries, realKubectl } from './real-binaries.ts'
import { realChromium } from './real-chromium.ts'
import { realRedis } from './real-redis.ts'

export interface RealProgram {
  readonly name: string
  /** Paths of the suites that need it. `test/offline/real-programs.test.ts` compares them with what suites import. */
  readonly suites: readonly string[]
  provide(this: void, env: Environment): Promise<unknown>
}

/** Beside kube-apiserver and etcd, which every suite needs. */
export const realPrograms: readonly RealProgram[] = [
  {
    name: 'kubectl',
    suites: ['test/real/contract.test.ts', 'test/real/kubectl.test.ts', 'test/real/up.test.ts'],
    provide: realKubectl,
  },
  { name: 'redis', suites: ['examples/database/real.test.ts', 'test/real/sidecar.test.ts'], provide: realRedis },
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
 * `names` choose suites as vitest's do: by a part of their path. The servers are needed by all; where another program cannot
 * be had, that is said, and the suites that need it fail.
 * @throws BinaryMissing
 */
export async function prepareRealPrograms(names: readonly string[], preparation: Preparation = {}): Promise<void> {
  const { env = process.env, say = sayToStderr, servers = realBinaries, programs = realPrograms } = preparation
  await reporting('kube-apiserver and etcd', say, () => servers(env))
  const isChosen = (suite: string): boolean => names.length === 0 || names.some((name) => suite.includes(name))
  for (const { name, suites, provide } of programs) {
    const chosen = suites.filter(isChosen)
    if (chosen.length === 0) continue
    try {
      await reporting(name, say, () => provide(env))
    } catch (error) {
      say(`${name} cannot be had, so that ${chosen.join(' and ')} will fail: ${describeError(error)}`)
    }
  }
}

/** What a build or a download goes without saying for longer looks like a hang. */
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
