/**
 * What the containers of a simulated pod do, read from its annotations. `run-seconds` applies to all containers,
 * `run-seconds.web` to the container web alone. By default, containers of a pod with `restartPolicy: Always` run until
 * they are stopped; those of any other pod succeed after a few seconds.
 */
import type { Container, EphemeralContainer, Pod } from '../../../kube/types/core/v1.ts'

const annotationPrefix = 'simulated.muster.dev/'

/** What one container does. */
export interface ContainerScript {
  /** How long it runs; undefined: until it is stopped. */
  readonly runSeconds: number | undefined
  readonly exitCode: number
  /** Seconds until it is ready; undefined: never. */
  readonly readySeconds: number | undefined
  /** False if its image cannot be pulled. */
  readonly hasImage: boolean
}

/** Times of the pod as a whole. */
interface PodScript {
  readonly startSeconds: number
  readonly stopSeconds: number
}

export interface Pace {
  /** From a pod's arrival at its node to its first container: pulling images, setting up. @default 1 */
  readonly startSeconds: number
  /** From the request to stop until the pod has stopped. @default 1 */
  readonly stopSeconds: number
  /** How long a container runs that is not always restarted. @default 5 */
  readonly taskSeconds: number
}

export function podScript(pod: Pod, pace: Pace): PodScript {
  return {
    startSeconds: seconds(pod, 'start-seconds') ?? pace.startSeconds,
    stopSeconds: seconds(pod, 'stop-seconds') ?? pace.stopSeconds,
  }
}

export function containerScript(
  pod: Pod,
  container: Container,
  isInit: boolean,
  restarts: number,
  pace: Pace,
): ContainerScript {
  const { name } = container
  const isServer = isInit ? container.restartPolicy === 'Always' : (pod.spec?.restartPolicy ?? 'Always') === 'Always'
  // Annotations for all containers apply to regular ones; init containers must be named.
  const find = isInit
    ? (setting: string) => annotationOf(pod, `${setting}.${name}`)
    : (setting: string) => settingOf(pod, setting, name)
  const failures = number(find('fail-times'))
  const isOverFailing = failures !== undefined && restarts >= failures
  const run = isOverFailing ? undefined : number(find('run-seconds'))
  return {
    runSeconds: run ?? (isServer ? undefined : isInit ? 0 : pace.taskSeconds),
    exitCode: isOverFailing ? 0 : (number(find('exit-code')) ?? 0),
    readySeconds:
      find('ready') === 'false'
        ? undefined
        : (number(find('ready-after-seconds')) ?? container.readinessProbe?.initialDelaySeconds ?? 0),
    hasImage: find('fail-image-pull') !== 'true',
  }
}

/** An ephemeral container runs until it is stopped, unless an annotation with its name says otherwise. */
export function ephemeralScript(pod: Pod, { name }: EphemeralContainer): ContainerScript {
  return {
    runSeconds: number(annotationOf(pod, `run-seconds.${name}`)),
    exitCode: number(annotationOf(pod, `exit-code.${name}`)) ?? 0,
    readySeconds: undefined,
    hasImage: annotationOf(pod, `fail-image-pull.${name}`) !== 'true',
  }
}

function seconds(pod: Pod, setting: string): number | undefined {
  return number(annotationOf(pod, setting))
}

function settingOf(pod: Pod, setting: string, container: string): string | undefined {
  return annotationOf(pod, `${setting}.${container}`) ?? annotationOf(pod, setting)
}

function annotationOf(pod: Pod, setting: string): string | undefined {
  const { annotations = {} } = pod.metadata
  const name = annotationPrefix + setting
  return Object.hasOwn(annotations, name) ? annotations[name] : undefined
}

/** An invalid number counts as absent: a typing error must not stop a cluster. */
function number(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

/** The log of the container. */
export function logsOf(pod: Pod, container: string): string {
  return settingOf(pod, 'logs', container) ?? ''
}
