/** The measured process: a manager with the operator of the platform. */
import { systemRandom } from '../../src/clock/random.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { componentsOperator } from '../../src/platform/components/operator.ts'
import { runMeasuredManager } from '../measured-manager.ts'

await runMeasuredManager(componentsOperator({ clock: systemClock, random: systemRandom }))
