/**
 * `npm run bench -- NAME [--json] [--quick] [--only PART]`: runs one group of benchmarks, or one part of it, and prints
 * a table, or one JSON object a line. It fails only when it could not run; missed targets are not failures.
 */
import { parseArgs } from 'node:util'
import { type BenchReport, formatTable } from './figure.ts'

const groups: Readonly<
  Record<string, () => Promise<{ readonly run: (options: BenchOptions) => Promise<BenchReport> }>>
> = {
  cache: () => import('./cache/bench.ts'),
  apiserver: () => import('./apiserver/bench.ts'),
  envtest: () => import('./envtest/bench.ts'),
  simulate: () => import('./simulate/bench.ts'),
  contract: () => import('./contract/bench.ts'),
  manager: () => import('./manager/bench.ts'),
  start: () => import('./start/bench.ts'),
  render: () => import('./render/bench.ts'),
  install: () => import('./install/bench.ts'),
  workloads: () => import('./workloads/bench.ts'),
  platform: () => import('./platform/bench.ts'),
}

export interface BenchOptions {
  /** A tenth of the load: to see that it works, not to quote. */
  readonly quick: boolean
  /** One part of the group; each group defines its parts. */
  readonly only: string | undefined
  readonly log: (line: string) => void
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
})
const [name = ''] = positionals
const group = groups[name]
if (!group) {
  console.error(
    `usage: npm run bench -- NAME [--json] [--quick] [--only PART], where NAME is one of: ${Object.keys(groups).join(', ')}`,
  )
  process.exit(2)
}

const { run } = await group()
const report = await run({ quick: values.quick, only: values.only, log: (line) => console.error(line) })
if (values.json) for (const figure of report.figures) console.log(JSON.stringify(figure))
else console.log(formatTable(report.figures))
for (const { what, cure } of report.missing) console.error(`missing: ${what}. ${cure}`)
if (report.figures.length === 0) process.exitCode = 1
