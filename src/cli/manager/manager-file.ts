/**
 * `.muster/manager.json`: the address of the manager that was started in a folder, readable by its owner only. `muster top`
 * and `muster cost` read it, so that no port has to be given.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../../system/folder.ts'
import { cliErrors } from '../errors.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import { type ManagerReport, readReport } from '../../manager/observability/report.ts'

interface ManagerFile {
  /** The URL of its status server. */
  readonly url: string
  readonly pid: number
}

const place = (folder: string): string => path.join(folder, '.muster', 'manager.json')

interface WrittenManagerFile {
  /** The manager that the file names instead: started here before, and still running. */
  readonly other: ManagerFile | undefined
  /** Removes the file, if it is this manager's. */
  remove(this: void): void
}

/** A second manager in the folder leaves the file of the first unchanged, and has none. */
export async function writeManagerFile(url: string, folder = '.'): Promise<WrittenManagerFile> {
  const file = place(folder)
  const own = `${JSON.stringify({ url, pid: process.pid } satisfies ManagerFile)}\n`
  makeFolder(path.dirname(file), 0o700)
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, own, { mode: 0o600, flag: 'wx' })
  try {
    // Atomic and exclusive: of two managers that start at once, one creates it.
    while (!linked(draft, file)) {
      const before = textOf(file)
      const other = await runningHere(folder)
      if (other) return { other, remove: () => undefined }
      if (textOf(file) === before) rmSync(file, { force: true })
    }
  } finally {
    rmSync(draft, { force: true })
  }
  return {
    other: undefined,
    remove() {
      // Compared as a whole: two containers may have the same process id.
      if (textOf(file) === own) rmSync(file, { force: true })
    },
  }
}

function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

export function readManagerFile(folder = '.'): ManagerFile | undefined {
  try {
    const { url, pid } = JSON.parse(readFileSync(place(folder), 'utf8')) as Partial<ManagerFile>
    return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : undefined
  } catch {
    return undefined
  }
}

/** The URL of the flag, else that of the file. @throws ManagerNotFound */
export function managerUrl(flag: string | undefined, folder = '.'): string {
  const url = flag ?? readManagerFile(folder)?.url
  if (url === undefined)
    throw new MusterError(cliErrors.ManagerNotFound, `There is no ${place(folder)}: none runs here.`)
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new MusterError(flagErrors.InvalidFlag, `--url ${url}: it must be a URL, such as http://127.0.0.1:8081.`)
  return trimEnd(url, '/')
}

const patienceMs = 5000

/** @throws ManagerNotFound */
export async function fetchReport(url: string, signal?: AbortSignal): Promise<ManagerReport> {
  const report = readReport(await fetchJson(`${url}/report`, signal))
  if (!report)
    throw new MusterError(cliErrors.ManagerNotFound, `What answers at ${originOf(url)} is no manager of this version.`)
  return report
}

/** Undefined if no manager runs in this folder. One that `--url` names must answer. @throws ManagerNotFound, InvalidFlag */
export async function reportIfAny(flag: string | undefined, signal: AbortSignal): Promise<ManagerReport | undefined> {
  if (flag !== undefined) return await fetchReport(managerUrl(flag), signal)
  try {
    return await fetchReport(managerUrl(undefined), signal)
  } catch {
    return undefined
  }
}

/** @throws ManagerNotFound */
export async function fetchJson(url: string, signal?: AbortSignal): Promise<unknown> {
  const limits = [AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]
  let text: string
  try {
    const response = await fetch(url, { signal: AbortSignal.any(limits), redirect: 'error' })
    text = await response.text()
  } catch (error) {
    throw new MusterError(cliErrors.ManagerNotFound, `No manager answers at ${originOf(url)}: it has ended.`, {
      cause: error,
    })
  }
  return parsed(text)
}

/** The running manager that was started in the folder, if any. */
export async function runningHere(folder = '.'): Promise<ManagerFile | undefined> {
  const file = readManagerFile(folder)
  if (!file) return undefined
  try {
    await fetchReport(file.url)
    return file
  } catch {
    return undefined
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Without credentials: a URL may contain a password. */
function originOf(url: string): string {
  return new URL(url).origin
}
