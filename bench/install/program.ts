/** The measured process: a manager with the operator of Installations. */
import { systemRandom } from '../../src/clock/random.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { installationOperator } from '../../src/platform/installation/operator.ts'
import { runMeasuredManager } from '../measured-manager.ts'

await runMeasuredManager(installationOperator({ clock: systemClock, random: systemRandom }))
