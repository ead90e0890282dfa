/**
 * An action: a program that changes the application, started once per key and followed to its end.
 *
 * `lost` means that the outcome is unknown: the program and its process shim were killed before the outcome was
 * recorded. It may have done all, some or nothing. Only the caller can decide, and starts it again under another key.
 */
import { cutText, type Hide, hidingValues } from '../kube/text/hidden-text.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../kube/json.ts'

export type ActionState = 'running' | 'succeeded' | 'failed' | 'lost'

/** Why an action failed. `NotStarted`: it certainly had no effect. */
export type FailureReason = 'ExitCode' | 'Signal' | 'TimedOut' | 'Cancelled' | 'NotStarted'

export interface ActionRequest {
  /** Chosen by the caller; the same key never starts a second time. */
  readonly key: string
  readonly name: string
  /** Passed to the program on stdin, as JSON. */
  readonly input?: Json | undefined
}

export interface ActionRecord {
  readonly key: string
  readonly name: string
  readonly state: ActionState
  readonly startedAt: string
  /** Increases with every change; for `?since=`. */
  readonly updatedAt: string
  readonly endedAt?: string | undefined
  readonly reason?: FailureReason | undefined
  readonly exitCode?: number | undefined
  /** From 0 to 1, as last reported by the program. */
  readonly progress?: number | undefined
  readonly message?: string | undefined
  readonly result?: Json | undefined
}

/** The configuration of an action. */
export interface ActionSpec {
  /** Program and arguments; no shell. */
  readonly command: readonly string[]
  readonly timeoutMs: number
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly directory?: string | undefined
  readonly environment: EnvironmentSpec
}

/** The environment of a program: PATH, and what is named here. */
export interface EnvironmentSpec {
  /** Variables passed on from the sidecar's environment. */
  readonly pass: readonly string[]
  readonly set: Readonly<Record<string, string>>
  /** Variable → member of the input. */
  readonly fromInput: Readonly<Record<string, string>>
}

/** What a program reported on stdout, as JSON objects. */
export interface ActionsReport {
  readonly progress?: number | undefined
  readonly message?: string | undefined
  readonly result?: Json | undefined
}

/** The recorded outcome. */
export interface ActionOutcome extends ActionsReport {
  readonly state: Exclude<ActionState, 'running'>
  readonly endedAt: string
  readonly reason?: FailureReason | undefined
  readonly exitCode?: number | undefined
}

export const longestMessage = 1000

/** Merges a line of stdout into the report; returns the same report for any other line. */
export function readActionsReport(line: string, before: ActionsReport, hide?: Hide): ActionsReport {
  if (!line.startsWith('{')) return before
  let value: unknown
  try {
    value = parseJson(line)
  } catch {
    return before
  }
  return isJsonObject(value) ? { ...before, ...actionsReportOf(value, hide) } : before
}

/** `hide` redacts secrets; the message is truncated afterwards. */
export function actionsReportOf(value: JsonObject, hide?: Hide): ActionsReport {
  const own = new Map(Object.entries(value))
  const [progress, message] = [own.get('progress'), own.get('message')]
  return {
    ...(typeof progress === 'number' ? { progress: Math.min(Math.max(progress, 0), 1) } : {}),
    ...(typeof message === 'string' ? { message: cutText(message, longestMessage, hide) } : {}),
    ...(own.has('result') ? { result: own.get('result') } : {}),
  }
}

const endings: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'lost'])
const reasons: ReadonlySet<unknown> = new Set(['ExitCode', 'Signal', 'TimedOut', 'Cancelled', 'NotStarted'])

export function actionOutcomeOf(value: JsonObject | undefined): ActionOutcome | undefined {
  const { state, endedAt, reason, exitCode } = value ?? {}
  if (!value || !endings.has(state) || typeof endedAt !== 'string') return undefined
  return {
    ...actionsReportOf(value),
    state: state as ActionOutcome['state'],
    endedAt,
    ...(reasons.has(reason) ? { reason: reason as FailureReason } : {}),
    ...(typeof exitCode === 'number' ? { exitCode } : {}),
  }
}

/** Redacts the secrets in a text. */
export function hiding(secrets: readonly string[]): Hide {
  const hide = hidingValues(secrets, mask)
  const short = secrets.filter((secret) => secret.length === 3)
  return (text) => short.reduce((shown, secret) => shown.replaceAll(secret, mask), hide(text))
}

const mask = '•••'

/** All strings in a JSON value. */
export function actionTexts(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(actionTexts) : []
}
