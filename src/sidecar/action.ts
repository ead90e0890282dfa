/**
 * An action: a program that changes the application, started once by key and watched to its end.
 *
 * `lost` means that nobody knows: the program, and whoever watched it, were killed before its end was written down.
 * It may have done all, some or nothing. Only whoever asked for it can decide, and asks again under another key.
 */
import { cutText, type Hide, hidingValues } from '../kube/hidden-text.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../kube/json.ts'

export type ActionState = 'running' | 'succeeded' | 'failed' | 'lost'

/** Why an action failed. `NotStarted`: for certain, nothing was done. */
export type FailureReason = 'ExitCode' | 'Signal' | 'TimedOut' | 'Cancelled' | 'NotStarted'

export interface ActionRequest {
  /** Chosen by whoever asks; the same key never starts a second time. */
  readonly key: string
  readonly name: string
  /** What the program gets on its stdin, as JSON. */
  readonly input?: Json | undefined
}

export interface ActionRecord {
  readonly key: string
  readonly name: string
  readonly state: ActionState
  readonly startedAt: string
  /** Moves on with every change; `?since=` takes it. */
  readonly updatedAt: string
  readonly endedAt?: string | undefined
  readonly reason?: FailureReason | undefined
  readonly exitCode?: number | undefined
  /** From 0 to 1, as the program last said. */
  readonly progress?: number | undefined
  readonly message?: string | undefined
  readonly result?: Json | undefined
}

/** How an action is carried out: what the configuration says under its name. */
export interface ActionSpec {
  /** Program and arguments; no shell reads them. */
  readonly command: readonly string[]
  readonly timeoutMs: number
  /** Between the request to end and the end by force. */
  readonly graceMs: number
  readonly directory?: string | undefined
  readonly environment: EnvironmentSpec
}

/** What of the surroundings a program gets to see: PATH, and what is named here. */
export interface EnvironmentSpec {
  /** Variables of the sidecar that are passed on. */
  readonly pass: readonly string[]
  readonly set: Readonly<Record<string, string>>
  /** Variable → member of the input. */
  readonly fromInput: Readonly<Record<string, string>>
}

/** What a program said of itself, a JSON object a line. */
export interface ActionsReport {
  readonly progress?: number | undefined
  readonly message?: string | undefined
  readonly result?: Json | undefined
}

/** How it ended, as written down. */
export interface ActionOutcome extends ActionsReport {
  readonly state: Exclude<ActionState, 'running'>
  readonly endedAt: string
  readonly reason?: FailureReason | undefined
  readonly exitCode?: number | undefined
}

export const longestMessage = 1000

/** What a line of stdout adds to the report; the same report when it is no line for us. */
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

/** `hide` masks what others must not read; the message is cut then. */
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

/** Hides every one of the secrets in a text that others will read. */
export function hiding(secrets: readonly string[]): Hide {
  const hide = hidingValues(secrets, mask)
  const short = secrets.filter((secret) => secret.length === 3)
  return (text) => short.reduce((shown, secret) => shown.replaceAll(secret, mask), hide(text))
}

const mask = '•••'

/** Every text within a JSON value. */
export function actionTexts(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(actionTexts) : []
}
