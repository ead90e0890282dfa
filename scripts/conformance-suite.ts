/** Kubernetes' end-to-end suite as a program: the list of its conformance tests, and the outcome of one of them. */
import { spawn } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

export interface ConformanceTest {
  /** Its source file: `apimachinery/namespace.go`. */
  readonly file: string
  /** Its whole name, without tags: `[sig-api-machinery] Namespaces should …`. */
  readonly name: string
  /** The last part of its name: `should …`. */
  readonly title: string
  /** The name in the suite. */
  readonly text: string
  readonly isSlow: boolean
}

export interface Outcome {
  readonly passed: boolean
  readonly seconds: number
  /** Why it did not pass, in one line. */
  readonly message: string
}

/** A test that takes longer hangs. Some tests wait for minutes of real time, and those marked as slow for longer. */
const limitSeconds = 400
const slowLimitSeconds = 900
/** The time for clean-up after the limit; then the process is killed. */
const graceSeconds = 60

interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null
  readonly LeafNodeType: string
  readonly LeafNodeText: string
  readonly LeafNodeLocation: { readonly FileName: string }
  readonly LeafNodeLabels: readonly string[] | null
  readonly State: string
  readonly Failure?: { readonly Message?: string }
}

export async function listTests(
  suite: string,
  folder: string,
  signal: AbortSignal,
): Promise<readonly ConformanceTest[]> {
  const report = join(folder, 'list.json')
  await runSuite(suite, ['--ginkgo.dry-run', '--ginkgo.focus=\\[Conformance\\]'], report, limitSeconds, signal)
  return (await specsOf(report)).flatMap((spec) => {
    if (spec.LeafNodeType !== 'It' || spec.State !== 'passed') return []
    const text = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ')
    const file = spec.LeafNodeLocation.FileName.replace(/^.*\/test\/e2e\//, '')
    const [name, title] = [untagged(text), untagged(spec.LeafNodeText)]
    return [{ file, name, title, text, isSlow: (spec.LeafNodeLabels ?? []).includes('Slow') }]
  })
}

function untagged(text: string): string {
  return text.replace(/ \[(?:Conformance|Slow|Serial|Disruptive|NodeConformance|LinuxOnly|Minimum[^\]]*)\]/g, '')
}

export async function runTest(
  suite: string,
  test: ConformanceTest,
  kubeconfig: string,
  folder: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const report = join(folder, 'result.json')
  const limit = test.isSlow ? slowLimitSeconds : limitSeconds
  const started = performance.now()
  await mkdir(folder, { recursive: true })
  const output = await runSuite(
    suite,
    [
      // The suite prefixes the name of the test with its own.
      `--ginkgo.focus= ${test.text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')}$`,
      `--ginkgo.timeout=${limit}s`,
      `--kubeconfig=${kubeconfig}`,
      `--kubectl-path=${process.env['MUSTER_CONFORMANCE_KUBECTL'] ?? 'kubectl'}`,
      '--dump-logs-on-failure=false',
    ],
    report,
    limit,
    signal,
  )
  const seconds = (performance.now() - started) / 1000
  const specs = await specsOf(report)
  const own = specs.find(({ LeafNodeType, State }) => LeafNodeType === 'It' && State !== 'skipped')
  if (own?.State === 'passed') return { passed: true, seconds, message: '' }
  const failed = own ?? specs.find(({ State }) => State === 'failed')
  const message = failed?.Failure?.Message ?? output.slice(-500)
  return {
    passed: false,
    seconds,
    message: `${failed?.State ?? 'no report'}: ${message}`.replace(/\s+/g, ' ').slice(0, 600),
  }
}

async function specsOf(report: string): Promise<readonly SpecReport[]> {
  try {
    const suites = JSON.parse(await readFile(report, 'utf8')) as readonly {
      readonly SpecReports: readonly SpecReport[] | null
    }[]
    return suites.flatMap(({ SpecReports }) => SpecReports ?? [])
  } catch {
    return []
  }
}

/** Runs the program, and returns its output. */
async function runSuite(
  suite: string,
  args: readonly string[],
  report: string,
  limit: number,
  signal: AbortSignal,
): Promise<string> {
  await rm(report, { force: true })
  const fixed = ['--provider=skeleton', `--ginkgo.json-report=${report}`, '--ginkgo.no-color', '--ginkgo.silence-skips']
  const child = spawn(suite, [...fixed, ...args], { stdio: ['ignore', 'pipe', 'pipe'], signal, killSignal: 'SIGKILL' })
  const timer = setTimeout(() => child.kill('SIGKILL'), (limit + graceSeconds) * 1000)
  let output = ''
  const take = (text: string): void => void (output = (output + text).slice(-100_000))
  child.stdout.setEncoding('utf8').on('data', take)
  child.stderr.setEncoding('utf8').on('data', take)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // A killed run has no result, which is a failure too.
  child.on('error', (error) => (signal.aborted ? resolve() : reject(error)))
  child.on('close', () => resolve())
  await promise.finally(() => clearTimeout(timer))
  return output
}
