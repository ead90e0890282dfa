/** A chart to render twice: by Muster's engine and by Helm's. */
import { isMusterError } from '../../../src/kube/muster-error.ts'
import { renderErrors } from '../../../src/render/errors.ts'
import { renderTemplates } from '../../../src/render/engine/render-templates.ts'
import { validText } from '../../../src/render/template/text-bytes.ts'
import { type GoMap, int64, setMapMember, withType } from '../../../src/render/template/values.ts'

export interface RenderCase {
  /** By path below the chart: `templates/a.yaml`. */
  readonly templates: Readonly<Record<string, string>>
  /** JSON; `{"$int64": "5"}` and `{"$int": "5"}` stand for integers. */
  readonly values: Readonly<Record<string, unknown>>
  readonly strict?: boolean
}

export interface RenderResult {
  readonly rendered?: Readonly<Record<string, string>>
  readonly error?: string
  /** The template does not end: stopped by a budget here, by the end of the process there. */
  readonly unbounded?: boolean
}

/** The values of a case as templates see them. */
function goValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(goValue)
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value)
  const { $int64: long, $int: int } = value as { $int64?: unknown; $int?: unknown }
  if (keys.length === 1 && typeof long === 'string') return int64(BigInt(long))
  if (keys.length === 1 && typeof int === 'string') return BigInt(int)
  const map: GoMap = {}
  for (const key of keys) setMapMember(map, key, goValue((value as GoMap)[key]))
  return map
}

/** The same bytes each time: what differs from call to call is not compared. */
const generators = {
  randomBytes: (length: number): Uint8Array => new Uint8Array(length),
  generate: <Value>(_site: unknown, create: () => Value): Value => create(),
}

export function renderHere({ templates, values, strict }: RenderCase): RenderResult {
  const data = {
    Values: withType(goValue(values) as GoMap, 'common.Values'),
    Release: { Name: 'r', Namespace: 'n', Revision: 1n, IsInstall: true, IsUpgrade: false, Service: 'Helm' },
    Chart: { Name: 'c', Version: '1.2.3' },
    Capabilities: {},
    Files: {},
    Subcharts: {},
  }
  const sources = Object.entries(templates).map(([path, text]) => ({
    name: `c/${path}`,
    text,
    basePath: 'c/templates',
    data,
  }))
  try {
    const rendered = renderTemplates(sources, { generators, clock: { now: () => 0 }, strict })
    // The other side answers in JSON, in which bytes that are not UTF-8 are U+FFFD.
    return { rendered: Object.fromEntries([...rendered].map(([name, text]) => [name, validText(text)])) }
  } catch (error) {
    if (isMusterError(error, renderErrors.TemplateUnbounded)) return { unbounded: true }
    if (isMusterError(error)) return { error: error.message }
    throw error
  }
}
