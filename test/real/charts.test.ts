/** The golden renders of `test/render` are what the real Helm prints today. `MUSTER_RECORD=1` accepts its output as the new one. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { realHelm } from '../../scripts/real-binaries.ts'
import { type Golden, goldenFile, readGoldens, release, renderCases, renderFolder, withPaths } from '../render/cases.ts'

const run = promisify(execFile)
let helm: string
beforeAll(async () => {
  helm = await realHelm()
})

/** Log lines of Helm are no part of the error. */
const withoutLog = (text: string): string => text.replaceAll(/^level=.*\n?|^\d{4}\/\d\d\/\d\d .*\n?/gm, '')

async function printed(chart: string, flags: readonly string[]): Promise<Golden> {
  const folder = path.join(renderFolder, 'charts', chart)
  return await run(helm, ['template', release, folder, ...withPaths(flags)], { maxBuffer: 2 ** 26 }).then(
    ({ stdout }) => ({ output: stdout }),
    ({ stderr }: { readonly stderr: string }) => ({ error: withoutLog(stderr) }),
  )
}

const charts = [...new Set(renderCases.map(({ chart }) => chart))]

describe.each(charts)('Helm on the chart %s', (chart) => {
  it('prints what is recorded', { timeout: 120_000 }, async () => {
    const found: Record<string, Golden> = {}
    for (const { name, flags } of renderCases.filter((each) => each.chart === chart))
      found[name] = await printed(chart, flags)
    if (process.env['MUSTER_RECORD']) {
      await mkdir(path.dirname(goldenFile(chart)), { recursive: true })
      await writeFile(goldenFile(chart), `${JSON.stringify(found, undefined, 2)}\n`)
    }
    const lines = ({ error, output }: Golden): unknown => output ?? error?.split('\n').toSorted()
    const comparable = (all: Readonly<Record<string, Golden>>): unknown =>
      Object.fromEntries(Object.entries(all).map(([name, golden]) => [name, lines(golden)]))
    expect(comparable(found)).toEqual(comparable(readGoldens(chart)))
  })
})
