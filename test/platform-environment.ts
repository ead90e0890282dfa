/** A test environment that hosts the operator of the platform, and short words for what its tests do. */
import { onTestFinished } from 'vitest'
import { seededRandom } from '../src/clock/random.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { openTestEnvironment, type TestEnvironment } from '../src/manager/testing/test-environment.ts'
import { componentsOperator } from '../src/platform/components/operator.ts'
import { platformWords, type PlatformWords } from './platform-words.ts'

export { configMapText, crdText } from './platform-words.ts'

export interface PlatformEnvironment extends TestEnvironment, PlatformWords {}

/** It ends with the test. */
export async function platformEnvironment(): Promise<PlatformEnvironment> {
  const operator = componentsOperator({ clock: systemClock, random: seededRandom(1) })
  const testEnv = await openTestEnvironment(operator, { workloads: true })
  onTestFinished(() => testEnv.close())
  const rested = async (): Promise<void> => await testEnv.settle(60_000)
  const words = platformWords(testEnv.client, {
    rested,
    async eventually(assertion) {
      await rested()
      await assertion()
    },
  })
  // Not spread: its getters are asked each time.
  return Object.assign(Object.create(testEnv) as TestEnvironment, words)
}
