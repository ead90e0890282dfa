/**
 * Templates rendered by Muster's engine and by Helm's: recorded cases, calls of every function, and random templates. The seed
 * is in the message of a difference.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, inject, it } from 'vitest'
import { realHelmEngine } from '../../scripts/real-binaries.ts'
import { templateCases } from '../vectors/cases/templates.ts'
import { chanceOf } from './differential/chance.ts'
import { differences } from './templates/compare.ts'
import { comparedFunctions, drawCall } from './templates/draw-calls.ts'
import { caseOf, drawCase } from './templates/draw-templates.ts'
import { renderWithHelm } from './templates/engine-peer.ts'
import { type RenderCase, renderHere } from './templates/render-case.ts'

const program = await realHelmEngine()
const minutes = 60_000

/** Another one for each version; `MUSTER_TEST_SEED` repeats a run. */
const seed = inject('seed')

async function differencesOf(cases: readonly RenderCase[]): Promise<readonly string[]> {
  const helm = await renderWithHelm(program, cases)
  return differences(cases, cases.map(renderHere), helm)
}

/** The calls that are recorded: few of each function, always the same. */
const recordedCalls = comparedFunctions.flatMap((name, position) =>
  [0, 1, 2, 3].map((index) => {
    const text = drawCall(chanceOf(position * 1000 + index), name)
    return Object.assign({ name: `${name} ${index}: ${text}` }, caseOf(text))
  }),
)

describe.each([
  ['templates', templateCases],
  ['sprig', recordedCalls],
] as const)('recorded %s', (set, cases) => {
  it('match the results of Helm', { timeout: 5 * minutes }, async () => {
    const file = new URL(`../vectors/${set}.json`, import.meta.url)
    const results = await renderWithHelm(program, cases)
    const vectors = cases.map((one, index) => {
      const { rendered, error } = results[index]!
      const result = error === undefined ? { rendered: rendered?.['c/templates/a.yaml'] ?? '' } : { error }
      return Object.assign({}, one, result)
    })
    const text = `{\n  "vectors": [\n${vectors.map((vector) => `    ${JSON.stringify(vector)}`).join(',\n')}\n  ]\n}\n`
    if (process.env['MUSTER_RECORD']) await writeFile(file, text)
    expect(await readFile(file, 'utf8')).toBe(text)
  })
})

describe(`random templates (MUSTER_TEST_SEED=${seed})`, () => {
  it('render as with Helm, or fail with the same message', { timeout: 10 * minutes }, async () => {
    const cases = Array.from({ length: 20_000 }, (_, index) => drawCase(chanceOf(seed * 100_003 + index)))
    expect(await differencesOf(cases)).toEqual([])
  })

  it('call every function as with Helm', { timeout: 10 * minutes }, async () => {
    const cases = comparedFunctions.flatMap((name, position) =>
      Array.from({ length: 90 }, (_, index) =>
        caseOf(drawCall(chanceOf(seed * 100_003 + position * 1000 + index), name)),
      ),
    )
    expect(await differencesOf(cases)).toEqual([])
  })
})
