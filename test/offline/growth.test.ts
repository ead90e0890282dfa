/**
 * No request stops the server: the time of each grows with its size. The known ways to stop a server are always tried, and of
 * the fields of all kinds a part that follows from the seed of this version; `MUSTER_TEST_GROWTH=all` tries every field.
 */
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { seededRandom } from '../../src/clock/random.ts'
import { chanceOf } from '../hostile-values.ts'
import { customShapes } from '../growth/custom-shapes.ts'
import { type Field, fields } from '../growth/fields.ts'
import { growthProblem, type Send, type Shape } from '../growth/measure.ts'
import { fieldShape, knownShapes, otherShapes, units } from '../growth/shapes.ts'
import { growthTarget } from '../growth/target.ts'

const isWhole = process.env['MUSTER_TEST_GROWTH'] === 'all'

let send: Send

beforeAll(async () => {
  send = await growthTarget(3000)
}, 3_600_000)

async function problemsOf(shapes: Iterable<Shape>): Promise<readonly string[]> {
  const problems: string[] = []
  for (const shape of shapes) {
    const problem = await growthProblem(shape, send)
    if (problem !== undefined) problems.push(`${shape.name}: ${problem}`)
  }
  return problems
}

function* sample(all: readonly Field[], count: number): Generator<Shape> {
  const chance = chanceOf(seededRandom(inject('seed')))
  if (isWhole)
    for (const field of all) for (const unit of field.type === 'text' ? units : ['']) yield fieldShape(field, unit)
  else for (let made = 0; made < count; made++) yield fieldShape(chance.pick(all), chance.pick(units))
}

/** The measure is processor time: a machine that is busy with other things may take as long as it likes. */
const timeout = 3_600_000

describe('the time of a request', { timeout }, () => {
  it.each(knownShapes)('is linear in $name', async (shape) => {
    expect(await growthProblem(shape, send)).toBeUndefined()
  })

  it('is linear in the length of a request, however it is made long', async () => {
    expect(await problemsOf(otherShapes)).toStrictEqual([])
  })

  it('is linear in objects of custom kinds', async () => {
    expect(await problemsOf(customShapes)).toStrictEqual([])
  })

  const all = fields()

  it('is linear in the strings of all kinds', async () => {
    const texts = all.filter(({ type }) => type === 'text')
    expect(texts.length).toBeGreaterThan(500)
    expect(await problemsOf(sample(texts, 80))).toStrictEqual([])
  })

  it('is linear in the lists and maps of all kinds', async () => {
    const lists = all.filter(({ type }) => type !== 'text')
    expect(lists.length).toBeGreaterThan(200)
    expect(await problemsOf(sample(lists, 15))).toStrictEqual([])
  })
})
