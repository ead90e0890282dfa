/** The operator of the platform as a manager hosts it: on the clock of the machine, with sources rendered in a thread of their own. */
import { systemRandom } from '../clock/random.ts'
import { systemClock } from '../clock/system-clock.ts'
import type { Operator } from '../operator/operator.ts'
import { chartCacheFolder } from '../render/source/cache-folder.ts'
import { createRenderThread } from '../render/worker/render-thread.ts'
import { componentsOperator } from './components/operator.ts'

const thread = createRenderThread({ clock: systemClock })

/** Its thread starts with the first render, and does not keep the process alive. */
export const platformOperator: Operator = componentsOperator({
  clock: systemClock,
  random: systemRandom,
  render: thread.render,
  renderFolder: thread.renderFolder,
  cache: chartCacheFolder(process.env),
  env: process.env,
})
