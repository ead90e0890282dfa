/** Names in the API of a façade that the Platform cannot hold. */
import { describe, expect, it } from 'vitest'
import { type ComponentWish, soundWishes } from './component-wish.ts'
import { acceptedCondition } from './wish-report.ts'

const wish = (alias: string, component = alias.toLowerCase()): ComponentWish => ({
  alias,
  component,
  managementState: 'Managed',
})
const sound = (...components: readonly ComponentWish[]) => soundWishes({ components, ignored: [] })

describe('the wishes of a façade', () => {
  it('have the names of components', () => {
    const { components, refused } = sound(wish('keda'), wish('no_name'), wish('1st'), wish('a'.repeat(41)))
    expect(components.map(({ alias }) => alias)).toEqual(['keda'])
    expect(refused).toEqual([
      '"no_name" is no name of a component.',
      '"1st" is no name of a component.',
      `"${'a'.repeat(41)}" is no name of a component.`,
    ])
  })

  it('are one for each component: of twins the first counts', () => {
    const { components, refused } = sound(wish('kueue', 'queue'), wish('Queue'))
    expect(components.map(({ alias }) => alias)).toEqual(['kueue'])
    expect(refused).toEqual(['Queue and kueue are both the component queue: kueue counts.'])
    expect(acceptedCondition([], refused, [])).toEqual({
      type: 'Accepted',
      status: 'False',
      reason: 'InvalidComponent',
      message: refused[0],
    })
  })
})
