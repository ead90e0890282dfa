/** The flags that say where a chart or an artifact is, and how its server is reached. */
import { systemRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ChartFiles } from '../../render/archive/archive.ts'
import type { ArtifactKind } from '../../render/source/artifact-folder.ts'
import { chartCacheFolder } from '../../render/source/cache-folder.ts'
import { isLocalSource, readLocalChart } from '../../render/source/local-chart.ts'
import type { ChartSourceOptions } from '../../render/source/chart-source.ts'
import type { FlagValues } from '../command/command.ts'
import { readNamedFile } from '../command/named-file.ts'

const artifactKinds: readonly ArtifactKind[] = ['Chart', 'Manifests', 'Kustomization']

export const fetchFlags = {
  repo: { type: 'string', value: 'URL', help: 'chart repository that SOURCE is a name in' },
  version: { type: 'string', value: 'RANGE', help: 'version of the chart (default: the newest release)' },
  kind: {
    type: 'string',
    value: 'KIND',
    help: 'what an OCI artifact holds: Chart, Manifests or Kustomization (default: Chart)',
  },
  path: { type: 'string', value: 'DIR', help: 'folder inside an OCI artifact (default: all of it)' },
  'ca-file': { type: 'string', value: 'FILE', help: 'CA of the server, in PEM' },
  username: { type: 'string', value: 'NAME', help: 'user at the server; the password comes from --password-stdin' },
  'password-stdin': { type: 'boolean', help: 'read the password from standard input' },
  'plain-http': { type: 'boolean', help: 'http instead of https for an OCI registry' },
  'cache-dir': { type: 'string', value: 'DIR', help: 'folder of fetched charts (default: ~/.cache/muster/charts)' },
} as const

/** @throws InvalidFlag */
export function readArtifactKind(kind: string | undefined): ArtifactKind | undefined {
  if (kind === undefined) return undefined
  const found = artifactKinds.find((one) => one.toLowerCase() === kind.toLowerCase())
  if (found !== undefined) return found
  throw new MusterError(flagErrors.InvalidFlag, `--kind ${kind}: write one of ${artifactKinds.join(', ')}.`)
}

interface Context {
  readonly warn: (message: string) => void
  readonly signal: AbortSignal
}

/** @throws InvalidFlag, and the errors of sources */
export async function fetchNamedChart(
  source: string,
  given: FlagValues<typeof fetchFlags>,
  context: Context,
): Promise<ChartFiles> {
  const options = await fetchOptions(given, context)
  if (isLocalSource({ source, repository: given.repo })) return await readLocalChart(source)
  const { fetchChart } = await import('../../render/source/chart-source.ts')
  return await fetchChart({ source, repository: given.repo, version: given.version }, options)
}

/** The files of an OCI artifact. @throws InvalidFlag, and the errors of sources */
export async function fetchNamedArtifact(
  source: string,
  given: FlagValues<typeof fetchFlags>,
  context: Context,
): Promise<ChartFiles> {
  const { fetchArtifact } = await import('../../render/source/oci-artifact.ts')
  const { files } = await fetchArtifact({ source, version: given.version }, await fetchOptions(given, context))
  return files
}

async function fetchOptions(
  given: FlagValues<typeof fetchFlags>,
  { warn, signal }: Context,
): Promise<Omit<ChartSourceOptions, 'fetcher'>> {
  const { env } = process
  return {
    clock: systemClock,
    random: systemRandom,
    env,
    ca: given['ca-file'] === undefined ? undefined : await readNamedFile('ca-file', given['ca-file']),
    cache: given['cache-dir'] ?? chartCacheFolder(env),
    warn,
    signal,
    plainHttp: given['plain-http'],
    credentials: await readCredentials(given.username, given['password-stdin'] ?? false),
  }
}

async function readCredentials(
  username: string | undefined,
  isOnInput: boolean,
): Promise<{ readonly username: string; readonly password: string } | undefined> {
  if (username === undefined && !isOnInput) return undefined
  if (username === undefined || !isOnInput) {
    throw new MusterError(flagErrors.InvalidFlag, '--username and --password-stdin belong together.')
  }
  const { text: readStream } = await import('node:stream/consumers')
  return { username, password: (await readStream(process.stdin)).replace(/\r?\n$/, '') }
}
