import { describe, expect, it } from 'vitest'
import { nextStep, standardSteps, type StepName } from './step-graph.ts'

const children = (name: StepName): readonly StepName[] => standardSteps.steps[name].children.map(({ step }) => step)

describe('the graph of steps', () => {
  it('has an edge for failure and for giving up at each step, and the default last', () => {
    for (const [name, { children: ways }] of Object.entries(standardSteps.steps)) {
      if (name === 'ErrorManager' || name === 'GiveUpManager') continue
      const events = ways.map(({ on }) => on)
      expect(events).toEqual(expect.arrayContaining(['failed', 'gaveUp']))
      expect(events.indexOf('done')).toBe(events.includes('done') ? events.length - 1 : -1)
    }
  })

  it('reaches every step, and has no cycle', () => {
    const reached = new Set<StepName>()
    const visit = (name: StepName, above: readonly StepName[]): void => {
      expect(above).not.toContain(name)
      reached.add(name)
      for (const child of children(name)) visit(child, [...above, name])
    }
    visit(standardSteps.start, [])
    expect([...reached].toSorted()).toEqual(Object.keys(standardSteps.steps).toSorted())
  })

  it('continues with the first matching child', () => {
    expect(nextStep('CRGetter', ['finalizing', 'done'])).toBe('CRFinalizer')
    expect(nextStep('CRGetter', ['failed', 'finalizing', 'done'])).toBe('ErrorManager')
    expect(nextStep('CRGetter', ['done'])).toBe('CRChecker')
    expect(nextStep('ErrorManager', ['done'])).toBeUndefined()
  })
})
