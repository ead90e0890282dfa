import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkStepGraph, drawSteps, nextStep, standardSteps, type StepGraph } from './step-graph.ts'

const faultsOf = (graph: StepGraph): string => {
  try {
    checkStepGraph(graph, 'app')
    return ''
  } catch (error) {
    expect(error).toMatchObject({ name: 'InvalidStepGraph' })
    return (error as Error).message
  }
}

describe('a graph of steps', () => {
  it('the standard one is sound, and each step has a way for failure and for giving up', () => {
    expect(faultsOf(standardSteps)).toBe('')
    for (const [name, { children }] of Object.entries(standardSteps.steps)) {
      if (name === 'ErrorManager' || name === 'GiveUpManager') continue
      expect(children.map(({ on }) => on)).toEqual(expect.arrayContaining(['failed', 'gaveUp']))
    }
  })

  it.each<readonly [string, StepGraph, string]>([
    ['an unknown start', { start: 'X', steps: { A: { children: [] } } }, 'starts at X, which it does not have'],
    ['an unknown child', { start: 'A', steps: { A: { children: [{ step: 'B', on: 'done' }] } } }, 'A leads to B'],
    [
      'a name of every object',
      { start: 'A', steps: { A: { children: [{ step: 'constructor', on: 'done' }] } } },
      'A leads to constructor',
    ],
    ['an island', { start: 'A', steps: { A: { children: [] }, B: { children: [] } } }, 'B cannot be reached'],
    [
      'children after the default',
      {
        start: 'A',
        steps: {
          A: {
            children: [
              { step: 'B', on: 'done' },
              { step: 'B', on: 'failed' },
            ],
          },
          B: { children: [] },
        },
      },
      'A has children after its default',
    ],
    [
      'a circle without an end',
      {
        start: 'A',
        steps: { A: { children: [{ step: 'B', on: 'done' }] }, B: { children: [{ step: 'A', on: 'done' }] } },
      },
      'it never ends',
    ],
    ['no steps', { start: 'A', steps: {} }, 'starts at A'],
  ])('with %s is refused, and the fault is named', (_, graph, fault) => {
    expect(faultsOf(graph)).toContain(fault)
    expect(faultsOf(graph)).toContain('The steps of app')
  })

  it('the first child in order that is meant for what happened is next', () => {
    expect(nextStep(standardSteps, 'CRGetter', ['finalizing', 'done'])).toBe('CRFinalizer')
    expect(nextStep(standardSteps, 'CRGetter', ['failed', 'finalizing', 'done'])).toBe('ErrorManager')
    expect(nextStep(standardSteps, 'CRGetter', ['done'])).toBe('CRChecker')
    expect(nextStep(standardSteps, 'ErrorManager', ['done'])).toBeUndefined()
  })

  it('that is accepted leads only to steps that it has', () => {
    const names = ['A', 'B', 'C', 'D']
    const nodes = fc.record({
      children: fc.array(
        fc.record({
          step: fc.constantFrom(...names, 'E'),
          on: fc.constantFrom('failed', 'gaveUp', 'finalizing', 'done'),
        }),
        { maxLength: 3 },
      ),
    })
    const graphs = fc.record({
      start: fc.constantFrom(...names),
      steps: fc.dictionary(fc.constantFrom(...names), nodes),
    })
    fc.assert(
      fc.property(graphs, (given) => {
        const graph = given as StepGraph
        if (faultsOf(graph) !== '') return
        for (const [name] of Object.entries(graph.steps)) {
          for (const event of ['failed', 'gaveUp', 'finalizing', 'done'] as const) {
            const next = nextStep(graph, name, [event, 'done'])
            expect(next === undefined || Object.hasOwn(graph.steps, next)).toBe(true)
          }
        }
      }),
    )
  })

  it('can be drawn', () => {
    const text = drawSteps(standardSteps)
    expect(text).toContain('CRGetter -->|finalizing| CRFinalizer')
    expect(text).toContain('Mutator --> Updater')
  })
})
