/** The result of each controller in one run. If some fail, the writes of the others are still valid. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { writeGoYaml } from '../text/go-yaml.ts'
import { scalarText } from '../text/scalar-text.ts'

const resultStatuses = ['Unknown', 'Succeeded', 'Skipped', 'Failed', 'Panicked'] as const

export type ResultStatus = (typeof resultStatuses)[number]

export interface ControllerResult {
  readonly controller: string
  /** `Skipped`: it was not selected. `Panicked`: it crashed without returning an error. */
  readonly status: ResultStatus
  readonly errors: readonly string[]
  readonly panicStack?: string | undefined
}

/** Sorted by name, then by status. */
export function writeResults(results: readonly ControllerResult[]): string {
  const sorted = results.toSorted((a, b) => compare(a.controller, b.controller) || compare(a.status, b.status))
  return writeGoYaml({ controllerResults: sorted.map(resultOf) })
}

function resultOf({ controller, status, errors, panicStack }: ControllerResult): JsonObject {
  return {
    controllerName: controller,
    ...(errors.length > 0 && { errors: errors.map((message) => ({ message })) }),
    ...(panicStack !== undefined && { panicStack }),
    status,
  }
}

/** Parses the results of a program: an invalid status is `Unknown`. */
export function readResults(document: JsonObject): readonly ControllerResult[] {
  const entries = document['controllerResults']
  if (!Array.isArray(entries)) return []
  return (entries as readonly Json[]).flatMap((entry): readonly ControllerResult[] => {
    if (!isJsonObject(entry)) return []
    const { controllerName, status, errors, panicStack } = entry
    const messages = Array.isArray(errors) ? (errors as readonly Json[]) : []
    return [
      {
        controller: scalarText(controllerName),
        status: resultStatuses.find((known) => known === status) ?? 'Unknown',
        errors: messages.map((each) => scalarText(isJsonObject(each) ? each['message'] : each)),
        ...(typeof panicStack === 'string' && { panicStack }),
      },
    ]
  })
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
