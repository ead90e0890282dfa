/** The labels of a metric, and their text form in the exposition format. */

export type MetricLabels = Readonly<Record<string, string>>

/** client-go's queues have a name, controller-runtime adds the controller: here both are the operator. */
export function queueLabels(lane: string): MetricLabels {
  return { name: lane, controller: lane }
}

/** Reasons come from authors: special characters are escaped. */
export function metricLabels(labels: MetricLabels): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '{' : ','}${name}="${escape(labels[name]!)}"`
  return text === '' ? '' : `${text}}`
}

const special = /[\\\n"]/

function escape(value: string): string {
  if (!special.test(value)) return value
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('"', String.raw`\"`)
}
