/**
 * The record of an action on disk: a folder of small files, each written once by one process.
 *
 * | file            | written by, when                                                                           |
 * | --------------- | ------------------------------------------------------------------------------------------ |
 * | `action.json`   | the sidecar, before the action starts: the request, and how to run it                      |
 * | `input.json`    | the sidecar, with it; removed at the end, because inputs may be secret                     |
 * | `claim.json`    | the process shim, before it starts the program: its identity. There is only ever one claim |
 * | `progress.json` | the process shim, now and then: the last report of the program                             |
 * | `cancel`        | the sidecar: the end was requested                                                         |
 * | `outcome.json`  | the process shim, at the end; the sidecar, if the shim is gone                             |
 *
 * The folder gets its name only when its first two files are durable.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../system/folder.ts'
import { isJsonArray } from '../kube/json-member.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../kube/json.ts'
import type { ActionSpec, EnvironmentSpec } from './action.ts'
import { readDurableObject, syncFolder, writeDurably } from './durable-file.ts'

export interface SavedAction {
  readonly key: string
  readonly name: string
  readonly startedAt: string
  /** Detects another input under the same key, when the input itself is removed. */
  readonly inputDigest: string
  readonly spec: ActionSpec
}

interface FoundFolder {
  readonly folder: string
  /** Undefined when it cannot be read: then the outcome is unknown. */
  readonly saved: SavedAction | undefined
}

const draftPrefix = 'draft-'

/** A folder name for a key, which may hold any character. */
export function folderOf(actions: string, key: string): string {
  return path.join(actions, createHash('sha256').update(key).digest('hex').slice(0, 40))
}

export async function createFolder(actions: string, saved: SavedAction, input: Json): Promise<string> {
  const folder = folderOf(actions, saved.key)
  const draft = path.join(actions, draftPrefix + path.basename(folder))
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  await writeDurably(path.join(draft, 'input.json'), stringifyJson(input))
  await writeDurably(path.join(draft, 'action.json'), JSON.stringify(saved))
  await rename(draft, folder)
  await syncFolder(actions)
  return folder
}

/** All action folders; incomplete ones are removed. */
export async function findFolders(actions: string): Promise<readonly FoundFolder[]> {
  makeFolder(actions, 0o700)
  const found: FoundFolder[] = []
  for (const entry of await readdir(actions, { withFileTypes: true })) {
    const folder = path.join(actions, entry.name)
    if (entry.name.startsWith(draftPrefix)) await rm(folder, { recursive: true, force: true })
    else if (entry.isDirectory()) found.push({ folder, saved: await readSaved(folder) })
  }
  return found
}

export async function readSaved(folder: string): Promise<SavedAction | undefined> {
  const value = (await readDurableObject(path.join(folder, 'action.json')).catch(() => undefined)) ?? {}
  const { key, name, startedAt, inputDigest, spec } = value
  if (typeof key !== 'string' || typeof name !== 'string' || typeof startedAt !== 'string') return undefined
  if (typeof inputDigest !== 'string' || !isJsonObject(spec)) return undefined
  return { key, name, startedAt, inputDigest, spec: readSpec(spec) }
}

function readSpec(value: JsonObject): ActionSpec {
  const { command, timeoutMs, graceMs, directory, environment } = value
  return {
    command: isJsonArray(command) ? command.map(String) : [],
    timeoutMs: Number(timeoutMs),
    graceMs: Number(graceMs),
    ...(typeof directory === 'string' ? { directory } : {}),
    environment: (isJsonObject(environment) ? environment : noEnvironment) as unknown as EnvironmentSpec,
  }
}

export const noEnvironment: EnvironmentSpec = { pass: [], set: {}, fromInput: {} }

export async function removeInput(folder: string): Promise<void> {
  await rm(path.join(folder, 'input.json'), { force: true })
}

/** Records the cancellation, so that it survives a restart of the sidecar. */
export async function markCancelled(folder: string): Promise<void> {
  await writeFile(path.join(folder, 'cancel'), '', { mode: 0o600 })
  await syncFolder(folder)
}

/** Independent of the order of members. */
export function digestOf(input: Json): string {
  return createHash('sha256').update(canonical(input)).digest('hex')
}

function canonical(value: Json): string {
  if (isJsonArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isJsonObject(value)) return stringifyJson(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member ?? null)}`).join(',')}}`
}
