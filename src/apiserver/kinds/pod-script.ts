/**
 * What the containers of a pod do, since nothing runs in them: its annotations say it. `run-seconds` is for all
 * containers, `run-seconds.web` for the container web alone. What nobody says is what one would expect: containers of a
 * pod that is always restarted run until they are stopped, those of any other pod are tasks, and succeed after a while.
 */
import type { Container, EphemeralContainer, Pod } from '../../kube/types/core/v1.ts'

export const annotationPrefix = 'simulated.muster.dev/'

/** What one container does. */
export interface ContainerScript {
  /** How long it runs; undefined: until it is stopped. */
  readonly runSeconds: number | undefined
  readonly exitCode: number
  /** How long it takes to be ready; undefined: it never is. */
  readonly readySeconds: number | undefined
  /** Its image cannot be pulled. */
  readonly hasImage: boolean
}

/** What the pod as a whole takes its time for. */
export interface PodScript {
  readonly startSeconds: number
  readonly stopSeconds: number
}

export interface Pace {
  /** From a pod's arrival at its node to its first container: pulling images, setting up. @default 1 */
  readonly startSeconds: number
  /** From the request to stop until it has. @default 1 */
  readonly stopSeconds: number
  /** How long a task takes. @default 5 */
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
  // What is said for all is said for those that do the work; preparations are asked for by name.
  const find = isInit ? (word: string) => own(pod, `${word}.${name}`) : (word: string) => say(pod, word, name)
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
    runSeconds: number(own(pod, `run-seconds.${name}`)),
    exitCode: number(own(pod, `exit-code.${name}`)) ?? 0,
    readySeconds: undefined,
    hasImage: own(pod, `fail-image-pull.${name}`) !== 'true',
  }
}

function seconds(pod: Pod, word: string): number | undefined {
  return number(own(pod, word))
}

function say(pod: Pod, word: string, container: string): string | undefined {
  return own(pod, `${word}.${container}`) ?? own(pod, word)
}

function own(pod: Pod, word: string): string | undefined {
  const { annotations = {} } = pod.metadata
  const name = annotationPrefix + word
  return Object.hasOwn(annotations, name) ? annotations[name] : undefined
}

/** What cannot be read counts as not said: a typing error must not stop a cluster. */
function number(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

/** What the container has printed. */
export function logsOf(pod: Pod, container: string): string {
  return say(pod, 'logs', container) ?? ''
}
