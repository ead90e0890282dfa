/** Panels of a Grafana dashboard, and their places: rows of panels on a grid of 24 columns. */
import type { JsonObject } from '../../kube/json.ts'

export interface Panel {
  readonly title: string
  readonly description?: string
  readonly type: 'timeseries' | 'stat'
  /** Of 24 columns. */
  readonly width: number
  readonly height: number
  /** A unit of Grafana: `bytes`, `s`, `ops`, `percentunit`, `short`. */
  readonly unit: string
  readonly queries: readonly Query[]
  /** Texts and colours for values of a stat: `{ 0: ['no', 'red'] }`. */
  readonly meanings?: Readonly<Record<number, readonly [text: string, color: string]>>
}

interface Query {
  /** PromQL. */
  readonly expr: string
  /** The name of each series: `{{pod}}`. */
  readonly legend: string
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

const columns = 24

/** Rows below each other; panels beside each other, as many as fit. */
export function placed(rows: readonly Row[]): readonly JsonObject[] {
  let y = 0
  let id = 0
  return rows.flatMap(({ title, panels }) => {
    const heading = {
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: columns, x: 0, y },
    }
    y++
    let x = 0
    let height = 0
    const below = panels.map((panel) => {
      if (x + panel.width > columns) {
        x = 0
        y += height
        height = 0
      }
      const gridPos = { h: panel.height, w: panel.width, x, y }
      x += panel.width
      height = Math.max(height, panel.height)
      return { id: ++id, ...panelJson(panel), gridPos }
    })
    y += height
    return [heading, ...below]
  })
}

/** The variable of the dashboard, so that it works with any Prometheus. */
export const prometheusSource = { type: 'prometheus', uid: '${datasource}' }

function panelJson({ title, description, type, unit, queries, meanings }: Panel): JsonObject {
  const mappings = meanings
    ? [
        {
          type: 'value',
          options: Object.fromEntries(
            Object.entries(meanings).map(([value, [text, color]], index) => [value, { text, color, index }]),
          ),
        },
      ]
    : []
  return {
    type,
    title,
    ...(description !== undefined && { description }),
    datasource: prometheusSource,
    fieldConfig: {
      defaults: {
        unit,
        mappings,
        ...(type === 'timeseries' && { min: 0, custom: { fillOpacity: 10, showPoints: 'never' } }),
      },
      overrides: [],
    },
    options:
      type === 'stat'
        ? {
            reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
            colorMode: 'background',
            graphMode: 'none',
          }
        : {
            legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
            tooltip: { mode: 'multi', sort: 'desc' },
          },
    targets: queries.map(({ expr, legend }, index) => ({
      datasource: prometheusSource,
      expr,
      legendFormat: legend,
      refId: String.fromCharCode(65 + index),
      ...(type === 'stat' && { instant: true }),
    })),
  }
}
