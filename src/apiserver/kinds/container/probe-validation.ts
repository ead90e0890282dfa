/** Validation of probes and lifecycle hooks. */
import type { Container, LifecycleHandler, Probe } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { patternRemark } from '../../../kube/validation/name-validation.ts'
import { checkPort } from '../values/port.ts'
import {
  eachInvalid,
  forbiddenField,
  invalidField,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkNotNegative } from '../values/value-validation.ts'

/** What the validation of probes and hooks needs to know of the pod. */
export interface PodFacts {
  readonly gracePeriod: number | undefined
}

export function* checkHooks({ lifecycle }: Container, field: string, { gracePeriod }: PodFacts): Iterable<Cause> {
  if (!lifecycle) return
  const { postStart, preStop } = lifecycle
  if (postStart) yield* checkHandler(postStart, gracePeriod, `${field}.lifecycle.postStart`)
  if (preStop) yield* checkHandler(preStop, gracePeriod, `${field}.lifecycle.preStop`)
}

export function* checkProbes(container: Container, field: string, { gracePeriod }: PodFacts): Iterable<Cause> {
  const { livenessProbe, readinessProbe, startupProbe } = container
  if (livenessProbe) yield* checkRestartingProbe(livenessProbe, gracePeriod, `${field}.livenessProbe`)
  if (readinessProbe) {
    const at = `${field}.readinessProbe`
    yield* checkProbe(readinessProbe, gracePeriod, at)
    const { terminationGracePeriodSeconds: grace } = readinessProbe
    if (grace !== undefined) {
      yield invalidField(`${at}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes')
    }
  }
  if (startupProbe) yield* checkRestartingProbe(startupProbe, gracePeriod, `${field}.startupProbe`)
}

/** A liveness or startup probe: its success threshold must be 1. */
function* checkRestartingProbe(probe: Probe, gracePeriod: number | undefined, field: string): Iterable<Cause> {
  yield* checkProbe(probe, gracePeriod, field)
  if (probe.successThreshold !== 1) yield invalidField(`${field}.successThreshold`, probe.successThreshold, 'must be 1')
}

const counts = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const

function* checkProbe(probe: Probe, gracePeriod: number | undefined, field: string): Iterable<Cause> {
  yield* checkHandler(probe, gracePeriod, field)
  for (const count of counts) yield* checkNotNegative(probe[count], `${field}.${count}`)
  const { terminationGracePeriodSeconds: grace } = probe
  if (grace !== undefined && grace <= 0) {
    yield invalidField(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0')
  }
}

type Handler = LifecycleHandler & Pick<Probe, 'grpc'>

/** Exactly one handler. */
function* checkHandler(handler: Handler, gracePeriod: number | undefined, field: string): Iterable<Cause> {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler
  const checks: readonly (readonly [string, unknown, () => Iterable<Cause>])[] = [
    ['exec', exec, () => ((exec?.command ?? []).length === 0 ? [requiredField(`${field}.exec.command`)] : [])],
    ['httpGet', httpGet, () => checkHttpGet(httpGet!, `${field}.httpGet`)],
    ['tcpSocket', tcpSocket, () => checkPort(tcpSocket?.port, `${field}.tcpSocket.port`)],
    ['grpc', grpc, () => checkPort(grpc?.port, `${field}.grpc.port`)],
    ['sleep', sleep, () => checkSleep(sleep!.seconds, gracePeriod, `${field}.sleep`)],
  ]
  const given = checks.filter(([, way]) => way !== undefined)
  for (const [index, [name, , check]] of given.entries()) {
    if (index === 0) yield* check()
    else yield forbiddenField(`${field}.${name}`, 'may not specify more than 1 handler type')
  }
  if (given.length === 0) yield requiredField(field, 'must specify a handler type')
}

function* checkHttpGet(get: NonNullable<LifecycleHandler['httpGet']>, field: string): Iterable<Cause> {
  const { path, port, scheme, httpHeaders = [] } = get
  if (!path) yield requiredField(`${field}.path`)
  yield* checkPort(port, `${field}.port`)
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') yield unsupported(`${field}.scheme`, scheme, ['HTTP', 'HTTPS'])
  for (const { name } of httpHeaders) yield* eachInvalid(`${field}.httpHeaders`, name, checkHeaderName(name))
}

function checkHeaderName(name: string): readonly string[] {
  if (/^[-A-Za-z0-9]+$/.test(name)) return []
  const rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
  return [patternRemark(rule, '[-A-Za-z0-9]+', 'X-Header-Name')]
}

function* checkSleep(seconds: number, gracePeriod: number | undefined, field: string): Iterable<Cause> {
  if (gracePeriod === undefined || (seconds >= 0 && seconds <= gracePeriod)) return
  yield invalidField(
    field,
    seconds,
    `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`,
  )
}
