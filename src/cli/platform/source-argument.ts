/** SOURCE of the command line as the source of an Installation. What is on this machine goes along as files. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import { parseDuration } from '../../kube/units/duration.ts'
import type { InstallationSource } from '../../platform/installation/installation.ts'
import { isLocalSource, readLocalChart } from '../../render/source/local-chart.ts'
import { isOciReference, parseOciReference } from '../../render/source/oci-reference.ts'
import { readKustomizationFiles } from '../../render/source/kustomization-folder.ts'
import { readManifestFiles } from '../../render/source/manifest-files.ts'
import type { FlagValues } from '../command/command.ts'
import { readArtifactKind } from '../render/fetch-flags.ts'
import { sourceKind } from '../render/source-kind.ts'

export const sourceFlags = {
  repo: { type: 'string', value: 'URL', help: 'chart repository that SOURCE is a name in' },
  version: { type: 'string', value: 'RANGE', help: 'version of the chart (default: the newest release)' },
  'source-secret': {
    type: 'string',
    value: 'NAME',
    help: 'Secret with username and password for the registry or the chart repository',
  },
  'plain-http': { type: 'boolean', help: 'http instead of https for an OCI registry' },
  kind: {
    type: 'string',
    value: 'KIND',
    help: 'what an OCI artifact holds: Chart, Manifests or Kustomization (default: Chart)',
  },
  path: { type: 'string', value: 'DIR', help: 'folder inside an OCI artifact (default: all of it)' },
  interval: {
    type: 'string',
    value: 'DURATION',
    help: 'how often a tag or a range is resolved anew, such as 10m (default: only when the Installation changes)',
  },
} as const

type SourceFlagValues = FlagValues<typeof sourceFlags>

/** An object may have 1.5 MiB in etcd; a source that is larger belongs in a registry. */
const mostBytes = 1_000_000

/** @throws InvalidFlag, and the errors of sources */
export async function readSource(source: string, given: SourceFlagValues): Promise<InstallationSource> {
  const { repo, version } = given
  const secret = given['source-secret']
  const secretRef = secret === undefined ? {} : { secretRef: { name: secret } }
  const versioned = version === undefined ? {} : { version }
  const every = readInterval(given)
  if (repo !== undefined) {
    refuse(given, ['plain-http', 'kind', 'path'], 'a chart repository')
    return { helm: { url: repo, chart: source, ...versioned, ...secretRef }, ...every }
  }
  if (isOciReference(source)) {
    const kind = readArtifactKind(given.kind)
    const artifact = { ...(kind && { kind }), ...(given.path !== undefined && { path: given.path }) }
    return { oci: { ...ociPart(source, version), ...artifact, ...secretRef, ...plainHttp(given) }, ...every }
  }
  if (!isLocalSource({ source })) {
    throw new MusterError(
      flagErrors.InvalidFlag,
      `${source}: an Installation names no single archive. Name its chart repository (NAME --repo URL), or push it to an OCI ` +
        'registry (oci://HOST/PATH/NAME).',
    )
  }
  refuse(
    given,
    ['version', 'source-secret', 'plain-http', 'kind', 'path', 'interval'],
    `${source}, which is on this machine`,
  )
  return await localSource(source)
}

/** @throws InvalidFlag */
export function readInterval({ interval }: SourceFlagValues): Pick<InstallationSource, 'interval'> {
  if (interval === undefined) return {}
  try {
    if (parseDuration(interval) > 0n) return { interval }
  } catch {
    // Reported below.
  }
  throw new MusterError(flagErrors.InvalidFlag, `--interval ${interval}: write a duration, such as 10m.`)
}

function plainHttp(given: SourceFlagValues): { readonly plainHttp?: true } {
  return given['plain-http'] ? { plainHttp: true } : {}
}

/** `oci://HOST/PATH/NAME:VERSION@DIGEST`, taken apart. */
function ociPart(source: string, version: string | undefined): NonNullable<InstallationSource['oci']> {
  const { registry, repository, tag, digest } = parseOciReference(source)
  if (tag !== undefined && version !== undefined)
    throw new MusterError(flagErrors.InvalidFlag, `--version ${version}: ${source} names a version itself.`)
  const wanted = version ?? tag
  return {
    url: `oci://${registry}/${repository}`,
    ...(wanted !== undefined && { version: wanted }),
    ...(digest !== undefined && { digest }),
  }
}

function refuse(given: SourceFlagValues, names: readonly (keyof SourceFlagValues)[], what: string): void {
  const first = names.find((name) => given[name] !== undefined)
  if (first !== undefined) throw new MusterError(flagErrors.InvalidFlag, `--${first} is not for ${what}.`)
}

async function localSource(source: string): Promise<InstallationSource> {
  const kind = await sourceKind(source, undefined)
  if (kind === 'manifests') {
    const files = await readManifestFiles(source)
    const text = files.map((file) => `${trimEnd(file.text, '\n')}\n`).join('---\n')
    checkSize(source, text.length)
    return { manifests: { text } }
  }
  if (kind === 'kustomization') {
    const { files, folder } = await readKustomizationFiles(source)
    return { kustomize: { files: textFiles(source, files), ...(folder !== '.' && { path: folder }) } }
  }
  const chart = await readLocalChart(source)
  return { chart: { files: textFiles(source, chart) } }
}

/** @throws InvalidFlag: an Installation holds text, and not much of it */
function textFiles(source: string, files: ReadonlyMap<string, Uint8Array>): Readonly<Record<string, string>> {
  const decoder = new TextDecoder('utf8', { fatal: true })
  const entries = [...files].map(([name, data]) => {
    try {
      return [name, decoder.decode(data)] as const
    } catch {
      throw new MusterError(
        flagErrors.InvalidFlag,
        `${source}: ${name} is no text, and cannot be part of an Installation. Leave it out (.helmignore), or push the chart to ` +
          'an OCI registry.',
      )
    }
  })
  checkSize(
    source,
    [...files.values()].reduce((sum, data) => sum + data.length, 0),
  )
  return Object.fromEntries(entries)
}

function checkSize(source: string, bytes: number): void {
  if (bytes <= mostBytes) return
  throw new MusterError(
    flagErrors.InvalidFlag,
    `${source} has ${bytes} bytes, and an Installation holds at most ${mostBytes}. Push it to an OCI registry, and name that.`,
  )
}
