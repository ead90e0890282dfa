/** Defaults of a container: probe timings, image pull policy, termination message. */
import type { JsonObject } from '../../../kube/json.ts'
import { makeQuantity, formatQuantity, parseQuantity, quantityToMilli } from '../../../kube/units/quantity.ts'
import { type Draft, fillAbsent, fillZeros, ensurePart, part, parts } from '../strategy/draft.ts'
import { isLatest } from './image-name.ts'

const probe: JsonObject = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
const httpGet: JsonObject = { path: '/', scheme: 'HTTP' }

/** Regular, init and ephemeral containers alike. */
export function defaultContainer(container: Draft): void {
  fillZeros(container, {
    imagePullPolicy: pullPolicyOf(container['image']),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
  for (const port of parts(container, 'ports')) fillZeros(port, { protocol: 'TCP' })
  for (const variable of parts(container, 'env')) defaultVariable(variable)
  const resources = ensurePart(container, 'resources')
  roundResources(part(resources, 'limits'))
  roundResources(part(resources, 'requests'))
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const own = part(container, name)
    fillZeros(own, probe)
    fillZeros(part(own, 'httpGet'), httpGet)
    fillAbsent(part(own, 'grpc'), { service: '' })
  }
  const lifecycle = part(container, 'lifecycle')
  dropSignal(container, lifecycle)
  for (const name of ['postStart', 'preStop']) fillZeros(part(part(lifecycle, name), 'httpGet'), httpGet)
}

/** Fields of a disabled feature are dropped. */
function dropSignal(container: Draft, lifecycle: Draft | undefined): void {
  if (lifecycle?.['stopSignal'] === undefined) return
  delete lifecycle['stopSignal']
  if (Object.keys(lifecycle).length === 0) delete container['lifecycle']
}

export function pullPolicyOf(image: unknown): string {
  return isLatest(typeof image === 'string' ? image : '') ? 'Always' : 'IfNotPresent'
}

function defaultVariable(variable: Draft): void {
  const source = part(variable, 'valueFrom')
  fillZeros(part(source, 'fieldRef'), { apiVersion: 'v1' })
  fillAbsent(part(source, 'fileKeyRef'), { optional: false })
}

/** Resources have a precision of a thousandth; finer values are rounded up. */
export function roundResources(list: Draft | undefined): void {
  for (const [name, amount] of Object.entries(list ?? {})) {
    if (typeof amount !== 'string' && typeof amount !== 'number') continue
    const quantity = parseQuantity(amount)
    if (quantity.exponent >= -3) continue
    const rounded = makeQuantity(quantityToMilli(quantity), { exponent: -3, format: quantity.format })
    list![name] = formatQuantity(rounded)
  }
}

/** A container with a limit and no request requests its limit. Applies to pods, not to templates. */
export function requestLimits(container: Draft): void {
  const resources = part(container, 'resources')
  const limits = part(resources, 'limits')
  if (!resources || !limits) return
  fillAbsent(ensurePart(resources, 'requests'), limits)
}
