/** `muster render`: a chart, a kustomization or plain manifests as objects, without a cluster. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../../clock/system-clock.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import { type Command, defineCommand, type FlagValues } from '../command/command.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import type { ChartRequest, ChartResult } from '../../render/worker/chart-request.ts'
import type { GeneratedValues } from '../../render/generated/generated-values.ts'
import { openGeneratedFile } from './generated-file.ts'
import { sourceKind } from './source-kind.ts'
import { isOciReference } from '../../render/source/oci-reference.ts'
import { fetchFlags, fetchNamedArtifact, fetchNamedChart, readArtifactKind } from './fetch-flags.ts'
import { readValueFlags, valueFlags } from './value-flags.ts'

const flags = {
  name: { type: 'string', value: 'NAME', help: 'name of the release (default: release-name)' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the release (default: default)' },
  ...valueFlags,
  'include-crds': { type: 'boolean', help: 'print the files of crds/, too' },
  'kube-version': { type: 'string', value: 'VERSION', help: 'version of Kubernetes that the chart is told' },
  'api-versions': {
    type: 'string',
    short: 'a',
    value: 'GROUP/VERSION,…',
    multiple: true,
    help: 'further API versions that the chart is told',
  },
  'is-upgrade': { type: 'boolean', help: 'render as for an upgrade instead of an installation' },
  'show-only': {
    type: 'string',
    short: 's',
    value: 'TEMPLATE',
    multiple: true,
    help: 'print these templates only, such as templates/web.yaml',
  },
  'no-hooks': { type: 'boolean', help: 'leave hooks out' },
  'skip-schema-validation': { type: 'boolean', help: 'do not compare values with values.schema.json' },
  generated: {
    type: 'string',
    value: 'FILE',
    help: 'keep generated passwords and keys in this file, for later renders',
  },
  ...fetchFlags,
  output: outputFlag,
} as const

const command: Command = defineCommand({
  usage: 'SOURCE',
  details: `SOURCE is a chart (a folder, a .tgz archive, https://…/NAME-VERSION.tgz, oci://HOST/PATH/NAME, or a NAME in a --repo),
a folder with a kustomization, or plain manifests (a file or a folder). An OCI artifact may hold manifests or a kustomization
instead of a chart: --kind. Without --output a chart is printed as "helm template" prints it. What was fetched is kept: it can be
rendered again without a network.`,
  flags,
  endsAtOnce: true,
  async run({ flags: given, positionals, out, err, signal }) {
    const [source, ...more] = positionals
    if (source === undefined || more.length > 0) {
      throw new MusterError(flagErrors.InvalidFlag, 'render takes one SOURCE, such as ./chart or oci://HOST/PATH/NAME.')
    }
    const format = readOutputFormat(given.output)
    const warn = (message: string): void => err(`warning: ${message}`)
    const artifactKind = readArtifactKind(given.kind) ?? 'Chart'
    if (!isOciReference(source)) refuseArtifactFlags(given, source)
    const kind = await sourceKind(source, given.repo)
    if (kind !== 'chart') {
      refuseChartFlags(given, source)
      const { objects, text } = kind === 'manifests' ? await manifestsOf(source) : await kustomizationOf(source)
      out(format || text === undefined ? await printObjects(objects, format ?? 'yaml') : text.trimEnd())
      return 0
    }
    if (artifactKind !== 'Chart') {
      refuseChartFlags(given, `${source} as ${artifactKind}`, ['repo', ...Object.keys(fetchFlags)])
      const { renderFolder } = await import('../../render/source/artifact-folder.ts')
      const artifact = await fetchNamedArtifact(source, given, { warn, signal })
      out(await printObjects(renderFolder(artifact, given.path, artifactKind), format ?? 'yaml'))
      return 0
    }
    const files = await chartOf(source, given, { warn, signal })
    const { values, generated, close } = await chartInput(given)
    const request = {
      files,
      source: source.length > 1 && source.endsWith('/') ? source.slice(0, -1) : source,
      values,
      release: {
        name: given.name ?? 'release-name',
        namespace: given.namespace ?? 'default',
        isUpgrade: given['is-upgrade'] ?? false,
      },
      kubeVersion: given['kube-version'],
      apiVersions: (given['api-versions'] ?? []).flatMap((text) => text.split(',')),
      skipSchema: given['skip-schema-validation'],
      generated,
      budget: { milliseconds: longestMs },
    }
    const { printChart } = await import('../../render/chart/print-chart.ts')
    const rendered = await renderedHere(request)
    for (const warning of rendered.warnings) warn(warning)
    close(rendered.generated)
    const text = printChart(rendered, {
      includeCrds: given['include-crds'],
      noHooks: given['no-hooks'],
      showOnly: given['show-only'],
    })
    out(format ? await printObjects(await objectsOf(text), format) : text.replace(/\n$/, ''))
    return 0
  },
})

/** As long as a render thread may take. */
const longestMs = 60_000

/**
 * In this thread, which has nothing else to do: another one takes longer to start than most charts to render. A chart that nests
 * more deeply than the stack of this thread allows is rendered in another one.
 */
async function renderedHere(request: ChartRequest): Promise<ChartResult> {
  const { renderRequest } = await import('../../render/worker/chart-request.ts')
  const { StackExhausted } = await import('../../render/template/go-error.ts')
  try {
    return renderRequest(request, {
      randomBytes: (size) => randomBytes(size),
      clock: systemClock,
      hasLargerStack: true,
    })
  } catch (error) {
    if (!(error instanceof StackExhausted)) throw error
  }
  const { createRenderThread } = await import('../../render/worker/render-thread.ts')
  const thread = createRenderThread({ clock: systemClock, timeoutMs: longestMs })
  try {
    return await thread.render(request)
  } finally {
    await thread.close()
  }
}

/** With --path, a chart in a folder of an artifact. */
async function chartOf(
  source: string,
  given: FlagValues<typeof flags>,
  context: Parameters<typeof fetchNamedChart>[2],
): Promise<Awaited<ReturnType<typeof fetchNamedChart>>> {
  if (given.path === undefined) return await fetchNamedChart(source, given, context)
  const { filesBelow } = await import('../../render/source/artifact-folder.ts')
  return filesBelow(await fetchNamedArtifact(source, given, context), given.path)
}

async function chartInput(given: FlagValues<typeof flags>): Promise<{
  readonly values: Awaited<ReturnType<typeof readValueFlags>>
  readonly generated: GeneratedValues
  /** Stores what was generated. */
  readonly close: (values: GeneratedValues) => void
}> {
  const values = await readValueFlags(given)
  const file = given.generated
  if (file === undefined) return { values, generated: {}, close: () => undefined }
  const opened = openGeneratedFile(file)
  return { values, generated: opened.values, close: opened.store }
}

interface PlainObjects {
  readonly objects: readonly JsonObject[]
  /** As the original tool prints them. */
  readonly text?: string
}

async function manifestsOf(source: string): Promise<PlainObjects> {
  const { readManifestFiles } = await import('../../render/source/manifest-files.ts')
  const { readManifests } = await import('../../render/manifests/plain-manifests.ts')
  return { objects: readManifests(await readManifestFiles(source)).map(({ object }) => object) }
}

async function kustomizationOf(source: string): Promise<PlainObjects> {
  const { readKustomizationFiles } = await import('../../render/source/kustomization-folder.ts')
  const { renderKustomization } = await import('../../render/kustomize/render-kustomization.ts')
  const { files, folder } = await readKustomizationFiles(source)
  const { objects, text } = renderKustomization(files, folder)
  return { objects: objects as readonly JsonObject[], text }
}

async function objectsOf(text: string): Promise<readonly JsonObject[]> {
  const { renderedObjects } = await import('../../render/chart/print-chart.ts')
  return renderedObjects(text)
}

/** YAML documents, or one JSON list. */
async function printObjects(objects: readonly JsonObject[], format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return await formatOutput({ apiVersion: 'v1', kind: 'List', items: objects }, 'json')
  const { writeYaml } = await import('../../kube/yaml/yaml.ts')
  return objects
    .map((object) => `---\n${writeYaml(object)}`)
    .join('')
    .trimEnd()
}

function refuseArtifactFlags(given: FlagValues<typeof flags>, source: string): void {
  const first = (['kind', 'path'] as const).find((name) => given[name] !== undefined)
  if (first === undefined) return
  throw new MusterError(flagErrors.InvalidFlag, `--${first} is for artifacts of a registry, and ${source} is none.`)
}

/** Flags that would be ignored. */
function refuseChartFlags(given: FlagValues<typeof flags>, source: string, allowed: readonly string[] = []): void {
  const first = Object.keys(given).find((name) => name !== 'output' && !allowed.includes(name))
  if (first === undefined) return
  throw new MusterError(flagErrors.InvalidFlag, `--${first} is for charts, and ${source} is none.`)
}

export default command
