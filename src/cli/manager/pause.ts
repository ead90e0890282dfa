/** `muster pause`: stops the reconciles of an operator or of one object, until `muster resume`. */
import type { Command } from '../command/command.ts'
import { pausingCommand } from './pausing.ts'

const command: Command = pausingCommand(
  'pause',
  `While paused, nothing is written: no dependent, no status, no finalizer, no Event. An object is paused by the label
muster.dev/paused=true, an operator by an annotation of the manager's ConfigMap; both survive restarts.`,
)

export default command
