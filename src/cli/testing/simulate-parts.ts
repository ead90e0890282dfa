/**
 * A simulation in several processes: each runs a share of the plans as `muster simulate --part`, and their reports are merged.
 * Plans are independent of each other, so the merged report equals that of a single process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cliErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { SimulationReport } from '../../simulate/faults/simulate.ts'

/** A message from a part to its parent process. */
export type PartMessage =
  | { readonly done: number; readonly of: number; readonly failed: number }
  | { readonly report: SimulationReport }

interface PartsOptions {
  /** Flags of `muster simulate`, without those about parts. */
  readonly args: readonly string[]
  readonly workloads: boolean
  readonly jobs: number
  readonly onProgress: (done: number, of: number, failed: number) => void
  readonly signal: AbortSignal
}

/**
 * V8 flags of a process that runs plans. The objects of a plan live exactly as long as the plan: a large young generation avoids
 * copying them. Each core has such a process, so parallel garbage collection would only compete with the others. Functions are
 * called thousands of times, so feedback is allocated at once. Without simulated Pods, a part ends before the optimising
 * compiler pays off.
 */
export function engineFlags(workloads: boolean): readonly string[] {
  const flags = ['--min-semi-space-size=64', '--max-semi-space-size=64', '--single-threaded-gc']
  return [...flags, '--no-lazy-feedback-allocation', ...(workloads ? [] : ['--no-turbofan'])]
}

/** @throws PartFailed if a part ends without a report */
export async function simulateInParts(options: PartsOptions): Promise<SimulationReport> {
  const { args, workloads, jobs, onProgress, signal } = options
  const progress = Array.from({ length: jobs }, () => ({ done: 0, of: 0, failed: 0 }))
  const children: ChildProcess[] = []
  const stop = (): void => children.forEach((child) => void child.kill('SIGTERM'))
  const runPart = async (index: number): Promise<SimulationReport> => {
    const words = ['simulate', ...args, '--part', `${index + 1}/${jobs}`]
    const child = spawn(
      process.execPath,
      [...process.execArgv, ...engineFlags(workloads), process.argv[1]!, ...words],
      {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    )
    children.push(child)
    return await new Promise((resolve, reject) => {
      let report: SimulationReport | undefined
      child.on('message', (message: PartMessage) => {
        if ('report' in message) report = message.report
        else {
          progress[index] = message
          const sum = (member: 'done' | 'of' | 'failed'): number => progress.reduce((all, one) => all + one[member], 0)
          onProgress(sum('done'), sum('of'), sum('failed'))
        }
      })
      child.once('error', reject)
      child.once('close', (code, how) => {
        const why = how === null ? `with ${code}` : `by ${how}`
        if (report) resolve(report)
        else
          reject(new MusterError(cliErrors.PartFailed, `part ${index + 1} of ${jobs} ended ${why}, without a report.`))
      })
    })
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    return joinReports(await Promise.all(progress.map((_, index) => runPart(index))))
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** Merges the reports of all parts. */
function joinReports(reports: readonly SimulationReport[]): SimulationReport {
  const [first] = reports
  const groups = new Set(reports.flatMap(({ byGroup }) => Object.keys(byGroup)))
  const sum = (of: (report: SimulationReport) => number): number => reports.reduce((all, one) => all + of(one), 0)
  return {
    ...first!,
    passed: reports.every(({ passed }) => passed),
    plans: {
      all: first!.plans.all,
      executed: sum(({ plans }) => plans.executed),
      failed: sum(({ plans }) => plans.failed),
    },
    byGroup: Object.fromEntries([...groups].map((group) => [group, sum(({ byGroup }) => byGroup[group] ?? 0)])),
    failures: reports.flatMap(({ failures }) => failures).toSorted((one, other) => one.number - other.number),
  }
}
