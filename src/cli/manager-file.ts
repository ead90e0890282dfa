/**
 * Where a manager that runs on this machine is found: `.muster/manager.json` in the folder that it was started in, for its
 * owner alone. `muster top` and `muster cost` read it, so that nobody has to remember a port.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../client/folder.ts'
import { MusterError } from '../kube/errors.ts'
import { type ManagerReport, readReport } from '../manager/report.ts'

interface ManagerFile {
  /** Of its status server. */
  readonly url: string
  readonly pid: number
}

const place = (folder: string): string => path.join(folder, '.muster', 'manager.json')

/** Returns what takes it away again. */
export function writeManagerFile(url: string, folder = '.'): () => void {
  const file = place(folder)
  const text = JSON.stringify({ url, pid: process.pid } satisfies ManagerFile)
  makeFolder(path.dirname(file), 0o700)
  rmSync(file, { force: true })
  writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx' })
  return () => {
    // Another one may have come since.
    if (readManagerFile(folder)?.pid === process.pid) rmSync(file, { force: true })
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

/** Where to ask: what the flag says, else what was left here. @throws ManagerNotFound */
export function managerUrl(flag: string | undefined, folder = '.'): string {
  const url = flag ?? readManagerFile(folder)?.url
  if (url === undefined) throw new MusterError('ManagerNotFound', `There is no ${place(folder)}: none runs here.`)
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new MusterError('InvalidFlag', `--url ${url}: it must be a URL, such as http://127.0.0.1:8081.`)
  return url.replace(/\/+$/, '')
}

const patienceMs = 5000

/** @throws ManagerNotFound */
export async function fetchReport(url: string, signal?: AbortSignal): Promise<ManagerReport> {
  const limits = [AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]
  let text: string
  try {
    const response = await fetch(`${url}/report`, { signal: AbortSignal.any(limits), redirect: 'error' })
    text = await response.text()
  } catch (error) {
    throw new MusterError('ManagerNotFound', `Nobody answers at ${originOf(url)}: the manager has ended.`, {
      cause: error,
    })
  }
  const report = readReport(parsed(text))
  if (!report)
    throw new MusterError('ManagerNotFound', `What answers at ${originOf(url)} is no manager of this version.`)
  return report
}

/** Whether one answers that was started in the folder, and by whom. */
export async function runningHere(folder = '.'): Promise<ManagerFile | undefined> {
  const file = readManagerFile(folder)
  if (!file || file.pid === process.pid) return undefined
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

/** A URL may hold a password. */
function originOf(url: string): string {
  return new URL(url).origin
}
