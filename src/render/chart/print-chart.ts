/** The output of `helm template`, text for text. */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { renderErrors } from '../errors.ts'
import { objectsOf } from '../manifests/plain-manifests.ts'
import { splitManifests } from './manifests.ts'
import { parsePathPattern } from './path-pattern.ts'
import type { RenderedChart } from './render-chart.ts'

interface PrintOptions {
  /** @default false */
  readonly includeCrds?: boolean | undefined
  /** @default false */
  readonly noHooks?: boolean | undefined
  /** Templates to show, as paths in the chart or patterns: `templates/*.yaml`. @default all */
  readonly showOnly?: readonly string[] | undefined
}

/** @throws SourceNotFound if `showOnly` names a template that renders nothing */
export function printChart({ manifests, hooks, crds }: RenderedChart, options: PrintOptions = {}): string {
  const section = (path: string, text: string): string => `---\n# Source: ${path}\n${text}\n`
  const objects = [
    ...(options.includeCrds ? crds.map(({ path, text }) => section(path, text)) : []),
    ...manifests.map(({ path, text }) => section(path, text)),
  ]
  const shownHooks = options.noHooks ? [] : hooks.map(({ path, text }) => section(path, text))
  const whole = `${objects.join('').trim()}\n${shownHooks.join('')}`
  const { showOnly = [] } = options
  return showOnly.length === 0 ? whole : chosen(whole, showOnly)
}

function chosen(text: string, patterns: readonly string[]): string {
  const sections = splitManifests(text).map((section) => ({ section, path: sourceOf(section) }))
  return patterns
    .map((pattern) => {
      const matches = parsePathPattern(pattern)
      const found = sections.filter(({ path }) => path !== undefined && matches?.(path))
      if (found.length > 0) return found.map(({ section }) => `---\n${section}\n`).join('')
      throw new MusterError(renderErrors.SourceNotFound, `could not find template ${pattern} in chart.`)
    })
    .join('')
}

/** The path of the template below the root chart. */
function sourceOf(section: string): string | undefined {
  const line = section.split('\n').find((each) => each.startsWith('# Source: '))
  const slash = line?.indexOf('/') ?? -1
  return slash < 0 ? undefined : line?.slice(slash + 1)
}

/** The objects of printed manifests, in order. Lists stand for their items. */
export function renderedObjects(text: string): readonly JsonObject[] {
  return splitManifests(text).flatMap((section) => {
    const document = readYamlDocuments(section)[0] ?? null
    return isJsonObject(document) ? objectsOf(document, sourceOf(section) ?? 'the chart') : []
  })
}
