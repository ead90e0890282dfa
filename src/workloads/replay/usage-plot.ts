/** A replay as a picture: the share of each resource in use, and how many workloads wait, over time. SVG, without a library. */
import type { UsageSeries } from './usage-series.ts'

const [width, height, left, right, top, gap] = [800, 200, 60, 20, 40, 60] as const
const colours = ['#2563eb', '#d97706', '#059669', '#dc2626', '#7c3aed', '#0891b2'] as const

export function plotUsage({ times, usage, waiting }: UsageSeries): string {
  const span = (times.at(-1) ?? 0) + ((times[1] ?? 1) - (times[0] ?? 0))
  const most = Math.max(1, ...waiting)
  const panels = top + height + gap
  const legend = [...usage.keys()].map(
    (name, index) =>
      `<text x="${left + 140 * index}" y="24" fill="${colours[index % colours.length]!}">${escaped(name)}</text>`,
  )
  const lines = [...usage.values()].map((shares, index) =>
    lineOf(times, shares, span, Math.max(1, ...shares), top, colours[index % colours.length]!),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + width + right} ${panels + height + 50}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...legend,
    ...axes(top, 'in use', `${Math.round(Math.max(1, ...[...usage.values()].flat()) * 100)} %`),
    ...lines,
    ...axes(panels, 'waiting', String(most)),
    lineOf(times, waiting, span, most, panels, '#444444'),
    `<text x="${left}" y="${panels + height + 20}">0 s</text>`,
    `<text x="${left + width}" y="${panels + height + 20}" text-anchor="end">${(span / 1000).toFixed(1)} s</text>`,
    '</svg>',
    '',
  ].join('\n')
}

function axes(y: number, title: string, most: string): readonly string[] {
  return [
    `<path d="M${left} ${y}V${y + height}H${left + width}" fill="none" stroke="#999999"/>`,
    `<text x="${left - 8}" y="${y + 4}" text-anchor="end">${most}</text>`,
    `<text x="${left - 8}" y="${y + height}" text-anchor="end">0</text>`,
    `<text x="${left + 4}" y="${y - 6}">${title}</text>`,
  ]
}

/** Steps: a value holds up to the next point. */
function lineOf(
  times: readonly number[],
  values: readonly number[],
  span: number,
  most: number,
  y: number,
  colour: string,
): string {
  const steps = times.map((time, index) => {
    const x = left + (time / span) * width
    return `${index === 0 ? `M${x.toFixed(1)} ` : `H${x.toFixed(1)}V`}${(y + height * (1 - values[index]! / most)).toFixed(1)}`
  })
  return `<path d="${steps.join('')}H${left + width}" fill="none" stroke="${colour}"/>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
