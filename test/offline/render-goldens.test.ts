/** Charts are rendered as the real Helm renders them, text for text. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import command from '../../src/cli/render/render.ts'
import { parseArguments } from '../../src/cli/command/command.ts'
import { readValueFlags } from '../../src/cli/render/value-flags.ts'
import { MusterError } from '../../src/kube/muster-error.ts'
import { printChart } from '../../src/render/chart/print-chart.ts'
import { readChartFolder } from '../../src/render/source/chart-folder.ts'
import { renderRequest } from '../../src/render/worker/chart-request.ts'
import {
  comparableError,
  readGoldens,
  release,
  type RenderCase,
  renderCases,
  renderFolder,
  withPaths,
} from '../render/cases.ts'

const one = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const many = (value: unknown): readonly string[] => (Array.isArray(value) ? (value as string[]) : [])

/** The command without its thread. */
async function rendered({ chart, flags: given }: RenderCase): Promise<string> {
  const { flags } = parseArguments(command.flags, withPaths(given))
  const files = readChartFolder(`${renderFolder}/charts/${chart}`)
  const result = renderRequest(
    {
      files,
      values: await readValueFlags(flags),
      release: {
        name: release,
        namespace: one(flags['namespace']) ?? 'default',
        isUpgrade: flags['is-upgrade'] === true,
      },
      kubeVersion: one(flags['kube-version']),
      apiVersions: many(flags['api-versions']),
      skipSchema: flags['skip-schema-validation'] === true,
    },
    { randomBytes, clock: { now: () => 0 } },
  )
  return printChart(result, {
    includeCrds: flags['include-crds'] === true,
    noHooks: flags['no-hooks'] === true,
    showOnly: many(flags['show-only']),
  })
}

const charts = [...new Set(renderCases.map(({ chart }) => chart))]

describe.each(charts)('a render of the chart %s', (chart) => {
  const goldens = readGoldens(chart)

  const cases = renderCases.filter((each) => each.chart === chart)

  it.for(cases.filter(({ name }) => goldens[name]?.output !== undefined))('is that of Helm: $name', async (each) => {
    expect(await rendered(each)).toBe(goldens[each.name]?.output)
  })

  it.for(cases.filter(({ name }) => goldens[name]?.error !== undefined))('fails as with Helm: $name', async (each) => {
    const failure: unknown = await rendered(each).catch((caught: unknown) => caught)
    expect(failure).toBeInstanceOf(MusterError)
    const words = goldens[each.name]?.error ?? ''
    // Where Helm's words name what is wrong with a template or a value, they are ours as well.
    const isNamed = /execut|at '/.test(words)
    expect(isNamed ? comparableError((failure as Error).message) : []).toEqual(isNamed ? comparableError(words) : [])
  })
})
