/** `muster resume`: ends a pause; one reconcile corrects all drift since then. */
import type { Command } from '../command/command.ts'
import { pausingCommand } from './pausing.ts'

const command: Command = pausingCommand('resume', 'One reconcile of each object corrects all drift of the pause.')

export default command
