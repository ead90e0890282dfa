/**
 * No regular expression that meets the text of others needs more than linear time. The analysis reads expressions, not clocks:
 * the test gives the same answer on a busy machine.
 */
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { growthOf } from '../backtracking/backtracking.ts'
import { expressionsIn } from '../backtracking/sources.ts'

/** Expressions that the analysis cannot clear, each with its reason. */
const linearAllTheSame: Readonly<Record<string, string>> = {
  'src/kube/cel/syntax/lexer.ts':
    'only a wrong text makes an attempt fail far ahead, and after a hundred mistakes reading ends',
  'src/kube/structural/field-path.ts':
    'a quote begins a token only behind a delimiter, and a second such quote ends the first: one attempt reads to the end',
  'src/kube/structural/pattern.ts': 'sticky, and the first attempt that fails ends the search',
  'src/render/functions/semver.ts': 'constraints have at most 512 characters, versions 256',
  'src/operator/dependent/field-path.ts': 'sticky, and the first attempt that fails ends the reading',
}

/** Files that make expressions from what they are given at run time. */
const madeAtRunTime: Readonly<Record<string, string>> = {
  'src/apiserver/must-gather/gather-file.ts': 'the number of blanks in front of a line',
  'src/apiserver/storage/journal/recovery.ts': 'the two kinds of files in a folder',
  'src/kube/structural/pattern.ts': 'patterns of schemas: used while the number of steps is known and small, else RE2',
  'src/simulate/declarative/rules.ts': 'from a test, which its author alone runs',
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const found = expressionsIn('src')

describe('regular expressions', () => {
  it('take linear time', () => {
    const slow = found.flatMap(({ literal, file, place }) => {
      const growth = literal ? growthOf(literal) : 'linear'
      return growth === 'linear' || file in linearAllTheSame ? [] : [`${place}: ${String(literal)} is ${growth}`]
    })
    expect(slow).toStrictEqual([])
    expect(found.length).toBeGreaterThan(500)
  })

  it('take linear time when composed from parts', async () => {
    const files = new Set(
      found.filter(({ literal, file }) => !literal && !(file in madeAtRunTime)).map(({ file }) => file),
    )
    // What the files import, and packages among that, is evaluated before the recording.
    for (const one of files) await import(/* @vite-ignore */ `${root}${one}`)
    const Real = RegExp
    let file = ''
    const made: { readonly file: string; readonly expression: RegExp }[] = []
    const recording = new Proxy(Real, {
      construct(target, [pattern, flags]: [string | RegExp, string?]) {
        const expression = new target(pattern, flags)
        made.push({ file, expression })
        return expression
      },
    })
    vi.stubGlobal('RegExp', recording)
    onTestFinished(() => {
      vi.unstubAllGlobals()
    })
    for (file of files) {
      // Under another address a module is evaluated once more, and its own imports are not.
      await import(/* @vite-ignore */ `${root}${file}?recorded`)
    }
    vi.unstubAllGlobals()
    const slow = made.flatMap(({ file: where, expression }) => {
      const growth = growthOf(expression)
      return growth === 'linear' || where in linearAllTheSame ? [] : [`${where}: ${String(expression)} is ${growth}`]
    })
    expect(slow).toStrictEqual([])
    expect(new Set(made.map((one) => one.file))).toStrictEqual(files)
  })
})

describe('the backtracking analysis', () => {
  it.each([
    [/^(?:a+)+$/, 'exponential'],
    [/^\/+(?:\.?\/*)*$/, 'exponential'],
    [/^(?:(?:\d+\.?\d*)s)+$/, 'exponential'],
    [/^(?:a|a)*$/, 'exponential'],
    [/^\d*(?:\.\d*)?\d*$/, 'quadratic'],
    [/0+$/, 'quadratic'],
    [/\s*,\s*/, 'quadratic'],
    [/,(?=[^']*$)/, 'quadratic'],
    [/"(?:[^"\\]|\\.)*"/g, 'quadratic'],
    [/^(a*)b\1$/, 'unknown'],
    [/^\d+(?:\.\d*)?$/, 'linear'],
    [/^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/, 'linear'],
    [/\d+/g, 'linear'],
    [/^0+/, 'linear'],
    [/^ *a$/m, 'linear'],
    [/^\s*a$/m, 'quadratic'],
    [/[\p{Cc}--[\u0080-\u009f]]/v, 'linear'],
    [/[\p{L}--[a-z]]+0/v, 'quadratic'],
    [/^(\w+):([^]*)$/, 'linear'],
    [/^(?:[a-z]{0,61}[a-z]\.)+$/, 'linear'],
  ])('classifies %s as %s', (expression, growth) => {
    expect(growthOf(expression)).toBe(growth)
  })
})
