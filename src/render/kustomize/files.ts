/**
 * The files that a kustomization is built from, in memory: a folder, an archive and a test are the same to it. Paths are
 * relative to the root of the map, with `/` between names.
 *
 * As in kustomize, a kustomization reads files in its own folder and below. Another folder is reached only as a kustomization
 * of its own, and never one that contains the folder itself.
 */
import { posix } from 'node:path'
import { failure } from './failure.ts'

/** File contents by path. */
export type KustomizationFiles = ReadonlyMap<string, Uint8Array | string>

/** A folder that is being built. */
export class KustomizationFolder {
  /** From the root of the files; `.` is the root itself. */
  readonly path: string
  private readonly files: KustomizationFiles
  private readonly parent: KustomizationFolder | undefined

  constructor(files: KustomizationFiles, path: string, parent?: KustomizationFolder) {
    this.files = files
    this.path = path
    this.parent = parent
  }

  /** The path of a file in messages. */
  pathOf(name: string): string {
    return posix.join(this.path, name)
  }

  has(name: string): boolean {
    return this.files.has(this.pathOf(name))
  }

  /** @throws KustomizationFileMissing, KustomizationPathRefused, KustomizationUnsupported; `field` is for their message */
  bytes(name: string, field: string): Uint8Array {
    refuseRemote(name, field)
    const path = this.pathOf(name)
    if (posix.isAbsolute(name) || !isInside(path, this.path)) {
      throw failure('KustomizationPathRefused', field, `the file ${name} is not in the folder ${this.path}`)
    }
    const content = this.files.get(path)
    if (content === undefined) throw failure('KustomizationFileMissing', field, `there is no file ${path}`)
    return typeof content === 'string' ? Buffer.from(content) : content
  }

  text(name: string, field: string): string {
    return new TextDecoder().decode(this.bytes(name, field))
  }

  /** Whether the path is that of a file. A remote one counts as a file, too: reading it gives the error. */
  isFile(name: string): boolean {
    return remote.test(name) || (this.files.has(this.pathOf(name)) && !posix.isAbsolute(name))
  }

  private isFolder(name: string): boolean {
    const path = this.pathOf(name)
    const prefix = path === '.' ? '' : `${path}/`
    for (const file of this.files.keys()) if (file.startsWith(prefix)) return true
    return false
  }

  /** The path of the folder, and those of the folders that use it. */
  private chain(): readonly string[] {
    return [this.path, ...(this.parent?.chain() ?? [])]
  }

  /** Another folder, built as a part of this one. */
  folder(name: string, field: string): KustomizationFolder {
    refuseRemote(name, field)
    const path = this.pathOf(name)
    if (name === '' || posix.isAbsolute(name) || path.startsWith('..')) {
      throw failure('KustomizationPathRefused', field, `the folder ${name} is outside of the files`)
    }
    const used = this.chain().find((visited) => isInside(visited, path) || visited === stripEnd(path))
    if (used !== undefined) {
      throw failure('KustomizationPathRefused', field, `a cycle: ${stripEnd(path)} contains ${used}, which uses it`)
    }
    if (!this.isFolder(name)) throw failure('KustomizationFileMissing', field, `there is no file or folder ${path}`)
    return new KustomizationFolder(this.files, stripEnd(path), this)
  }
}

/** `a/b/` is `a/b`. */
export function stripEnd(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

function isInside(path: string, folder: string): boolean {
  if (folder === '.') return path !== '..' && !path.startsWith('../')
  return path.startsWith(`${folder}/`)
}

const remote =
  /^(?:https?|ssh|git|file|git::https?|git::ssh):\/\/|^(?:git::|git@|github\.com[/:]|gh:)|\?(?:ref|version)=/

function refuseRemote(name: string, field: string): void {
  if (!remote.test(name)) return
  throw failure(
    'KustomizationUnsupported',
    field,
    `${name} is not in the files: nothing is fetched. Add a copy of it to the folder, and name that`,
  )
}
