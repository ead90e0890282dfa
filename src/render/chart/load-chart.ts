/** Reads a chart from its files. */
import { MusterError } from '../../kube/muster-error.ts'
import { type ChartFiles, unpackChart } from '../archive/archive.ts'
import { renderErrors } from '../errors.ts'
import type { Chart, ChartFile } from './chart.ts'
import { readChartMetadata } from './metadata.ts'
import { readValues, type Warn } from './values.ts'

/** Charts in charts in charts: deeper ones are an attack. */
const deepest = 20

/**
 * @param place how messages name the chart
 * @throws InvalidChart, InvalidValues, InvalidArchive, InvalidYaml
 */
export function loadChart(files: ChartFiles, warn: Warn = () => undefined, place = 'chart'): Chart {
  return load(files, place, warn, 0)
}

function load(files: ChartFiles, place: string, warn: Warn, depth: number): Chart {
  if (depth > deepest) throw new MusterError(renderErrors.InvalidChart, `${place}: charts are nested too deeply.`)
  const text = (name: string): string | undefined => {
    const data = files.get(name)
    return data && new TextDecoder().decode(data)
  }
  const chartYaml = text('Chart.yaml')
  if (chartYaml === undefined) throw new MusterError(renderErrors.InvalidChart, `${place}: Chart.yaml file is missing.`)
  const metadata = readChartMetadata(chartYaml, text('requirements.yaml'), place)
  const { name } = metadata
  const isV1 = metadata.apiVersion === 'v1'
  if (files.has('requirements.yaml') && !isV1) {
    warn(`${name}: dependencies are read from requirements.yaml; since apiVersion v2 they belong into Chart.yaml`)
  }
  const values = text('values.yaml')
  const templates: ChartFile[] = []
  const others: ChartFile[] = []
  const subcharts = new Map<string, Map<string, Uint8Array>>()
  for (const [path, data] of files) {
    if (notFiles.has(path) || (!isV1 && requirements.has(path))) continue
    if (path.startsWith('templates/')) templates.push({ name: path, data })
    else if (!path.startsWith('charts/') || path.endsWith('.prov')) others.push({ name: path, data })
    else {
      const inner = path.slice('charts/'.length)
      const folder = inner.split('/', 1)[0]!
      subcharts.set(folder, (subcharts.get(folder) ?? new Map<string, Uint8Array>()).set(inner, data))
    }
  }
  return {
    metadata,
    values: values === undefined ? new Map<string, never>() : readValues(values, `${place}/values.yaml`),
    schema: text('values.schema.json'),
    templates,
    files: others,
    dependencies: [...subcharts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([folder, inner]) => loadSubchart(folder, inner, `${place}/charts/${folder}`, warn, depth)),
  }
}

const notFiles = new Set(['Chart.yaml', 'Chart.lock', 'values.yaml', 'values.schema.json'])
const requirements = new Set(['requirements.yaml', 'requirements.lock'])

/** A folder, or an archive; files that lie directly in `charts/` are no charts. */
function loadSubchart(folder: string, files: ChartFiles, place: string, warn: Warn, depth: number): readonly Chart[] {
  if (/^[_.]/.test(folder)) return []
  const archive = files.get(folder)
  if (archive !== undefined) {
    return folder.endsWith('.tgz') ? [load(unpackChart(archive, place), place, warn, depth + 1)] : missing(place)
  }
  const inner = new Map([...files].map(([path, data]) => [path.slice(folder.length + 1), data]))
  return [load(inner, place, warn, depth + 1)]
}

/** Helm reads a lone file as a chart without files. */
function missing(place: string): never {
  throw new MusterError(renderErrors.InvalidChart, `${place}: Chart.yaml file is missing.`)
}
