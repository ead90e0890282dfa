/**
 * A simulation in parts: its plans are shared out among processes, each a `muster simulate --part` of its own, and what they
 * report is put together. A plan does not depend on those before it, so the sum is what one process alone would report.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { MusterError } from '../kube/errors.ts'
import type { SimulationReport } from '../simulate/faults/simulate.ts'

/** What a part tells whoever started it. */
export type PartMessage =
  | { readonly done: number; readonly of: number; readonly failed: number }
  | { readonly report: SimulationReport }

export interface PartsOptions {
  /** Of `muster simulate`, without those about parts. */
  readonly args: readonly string[]
  readonly workloads: boolean
  readonly jobs: number
  readonly onProgress: (done: number, of: number, failed: number) => void
  readonly signal: AbortSignal
}

/**
 * For the engine of a process that plays plans. Nothing of a plan outlives it, but all of it lives until then: the more
 * plans fit into the young generation, the less often one is copied in the midst of its life. Each core has such a process:
 * threads that help one to collect would only take from another. And what is called at all is called thousands of times:
 * the engine need not wait to see that before it takes notes. Where no pods live, a set of plans is over before what the last of its
 * compilers makes is worth what that takes.
 */
export function engineFlags(workloads: boolean): readonly string[] {
  const flags = ['--min-semi-space-size=64', '--max-semi-space-size=64', '--single-threaded-gc']
  return [...flags, '--no-lazy-feedback-allocation', ...(workloads ? [] : ['--no-turbofan'])]
}

/** @throws PartFailed when one of them ends without a report */
export async function simulateInParts(options: PartsOptions): Promise<SimulationReport> {
  const { args, workloads, jobs, onProgress, signal } = options
  const progress = Array.from({ length: jobs }, () => ({ done: 0, of: 0, failed: 0 }))
  const children: ChildProcess[] = []
  const stop = (): void => children.forEach((child) => void child.kill('SIGTERM'))
  const play = async (index: number): Promise<SimulationReport> => {
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
        else reject(new MusterError('PartFailed', `part ${index + 1} of ${jobs} ended ${why}, without a report.`))
      })
    })
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    return joinReports(await Promise.all(progress.map((_, index) => play(index))))
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** As one process would have reported it. */
export function joinReports(reports: readonly SimulationReport[]): SimulationReport {
  const [first] = reports
  const groups = new Set(reports.flatMap(({ byGroup }) => Object.keys(byGroup)))
  const sum = (of: (report: SimulationReport) => number): number => reports.reduce((all, one) => all + of(one), 0)
  return {
    ...first!,
    passed: reports.every(({ passed }) => passed),
    plans: {
      all: first!.plans.all,
      played: sum(({ plans }) => plans.played),
      failed: sum(({ plans }) => plans.failed),
    },
    byGroup: Object.fromEntries([...groups].map((group) => [group, sum(({ byGroup }) => byGroup[group] ?? 0)])),
    failures: reports.flatMap(({ failures }) => failures).toSorted((one, other) => one.number - other.number),
  }
}
