import { expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { blockingOf } from '../findings/blocking.ts'
import { describeFinding } from '../findings/finding.ts'
import { createThreadWatch, type HeldThread } from '../threads/thread-watch.ts'
import { observeRuns } from './observed-runs.ts'

it('names the coordinator that holds the thread, also if it throws', () => {
  const clock = virtualClock()
  let late = 0
  const held: HeldThread[] = []
  const watched = { ...clock, now: () => clock.now() + late }
  const thread = createThreadWatch({ clock: watched, heldMs: 1000, onHeld: (each) => void held.push(each) })
  const { holding } = observeRuns({ clock: watched, thread }).of('workloads')
  expect(holding('queue', 'take', () => 1)).toBe(1)
  expect(held).toEqual([])
  const decide = (): never => {
    late += 3000
    throw new Error('odd')
  }
  expect(() => holding('queue', 'decide', decide)).toThrow('odd')
  const finding = blockingOf(held[0]!, 0)!
  expect(finding).toMatchObject({ operator: 'workloads', controller: 'queue', key: '', step: 'decide', heldMs: 3000 })
  expect(describeFinding(finding)).toContain('workloads, coordinator queue: held the thread for 3.0 s at step decide')
})
