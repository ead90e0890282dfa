/** `muster rollback`: an earlier revision of an Installation, until the next upgrade. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { Installation, type InstallationObject } from '../../platform/installation/installation.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { cliErrors } from '../errors.ts'
import {
  atInstallation,
  cliFieldManager,
  installationFlags,
  type InstallationPlace,
  readArguments,
  readInstallation,
} from './cluster-installation.ts'
import { revisionsOfInstallation } from './installation-content.ts'
import { waitAfterWrite } from './upgraded-installation.ts'
import { readTimeout, waitFlags } from './wait.ts'

const command: Command = defineCommand({
  usage: 'NAME [REVISION]',
  details: `Makes an earlier revision the active one, exactly as it was rendered (see muster history); without REVISION, the one before.
It stays, whatever the source and the values say, until muster upgrade. Exit code: 0 ready, 1 failed.`,
  flags: { ...connectionFlags, ...installationFlags, ...waitFlags },
  async run({ flags, positionals, out, signal }) {
    const name = readArguments('rollback', positionals, 'NAME and perhaps REVISION, such as web 2', 1)
    const wanted = readNumber(positionals[1])
    readTimeout(flags)
    return await atInstallation(name, flags, signal, async (place) => {
      const installation = await readInstallation(place)
      const revision = await chooseNumber(place, installation, wanted)
      const { client, ref } = place
      const { metadata } = await client.patch(
        Installation,
        ref,
        { spec: { revision } },
        { type: 'merge', fieldManager: cliFieldManager, signal },
      )
      out(`Installation ${ref.namespace}/${name} goes back to revision ${revision}.`)
      const written = { generation: metadata.generation, isSuspended: installation.spec.suspend }
      return await waitAfterWrite(place, written, flags, out)
    })
  },
})

function readNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new MusterError(flagErrors.InvalidFlag, `${text}: a revision is a number, such as 2.`)
}

/** @throws RevisionNotFound */
async function chooseNumber(
  place: InstallationPlace,
  { status = {} }: InstallationObject,
  wanted: number | undefined,
): Promise<number> {
  const numbers = (await revisionsOfInstallation(place)).map(({ spec }) => spec.number)
  const active = status.revision ?? 0
  const number = wanted ?? numbers.findLast((one) => one < active)
  if (number !== undefined && numbers.includes(number)) return number
  const all = numbers.length === 0 ? 'none' : numbers.join(', ')
  const which = wanted === undefined ? `revision before ${active}` : `revision ${wanted}`
  throw new MusterError(
    cliErrors.RevisionNotFound,
    `Installation ${place.ref.namespace}/${place.ref.name} has no ${which}; there are ${all}.`,
  )
}

export default command
