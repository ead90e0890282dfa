/**
 * The folder of executables that `KUBEBUILDER_ASSETS` names: `kube-apiserver`, `etcd` and `kubectl`.
 *
 * They are small shell scripts. Each replaces itself by Node with the right program, so that the caller's signals reach it; the
 * help, which callers ask for before each start, costs no Node at all. The name of the folder derives from the contents: a
 * folder that exists is complete, several processes may make it at once, and another version of Muster has another one.
 */
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'
import { apiServerFlags } from './apiserver-flags.ts'
import { etcdFlags } from './etcd-flags.ts'
import { programHelp } from './program-flags.ts'

interface AssetPrograms {
  /** Node, and the flags that it needs. */
  readonly node: readonly string[]
  /** The entry files, by the name of the executable. */
  readonly entries: Readonly<Record<'kube-apiserver' | 'etcd', string>>
}

export type Scripts = Readonly<Record<'kube-apiserver' | 'etcd' | 'kubectl', string>>

export function assetScripts({ node, entries }: AssetPrograms): Scripts {
  return {
    'kube-apiserver': script(node, entries['kube-apiserver'], programHelp(apiServerFlags)),
    etcd: script(node, entries.etcd, programHelp(etcdFlags)),
    kubectl: kubectlScript,
  }
}

/** A folder's own name: equal contents have equal names. */
export function assetsName(scripts: Scripts): string {
  const hash = createHash('sha256')
  for (const [name, text] of Object.entries(scripts)) hash.update(`${name}\0${text}\0`)
  return hash.digest('hex').slice(0, 16)
}

/**
 * Makes the folder if it is not there. In a folder that other users may write to, one of theirs is not accepted.
 * @throws the system error
 */
export function makeAssets(folder: string, scripts: Scripts): void {
  if (isComplete(folder, scripts)) return
  const parent = path.dirname(folder)
  makeFolder(parent, 0o700)
  const draft = mkdtempSync(path.join(parent, '.draft-'))
  try {
    chmodSync(draft, 0o755)
    writeScripts(draft, scripts)
    try {
      renameSync(draft, folder)
    } catch (error) {
      // A folder that exists cannot be replaced in one step: its files can.
      if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error
      replaceScripts(draft, folder, scripts)
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function writeScripts(folder: string, scripts: Scripts): void {
  for (const [name, text] of Object.entries(scripts)) {
    const file = path.join(folder, name)
    writeFileSync(file, text)
    // Whatever the umask says.
    chmodSync(file, 0o755)
  }
}

function replaceScripts(draft: string, folder: string, scripts: Scripts): void {
  // Another process was faster.
  if (isComplete(folder, scripts)) return
  checkOwner(folder)
  for (const name of Object.keys(scripts)) renameSync(path.join(draft, name), path.join(folder, name))
}

function isComplete(folder: string, scripts: Scripts): boolean {
  try {
    checkOwner(folder)
    return Object.entries(scripts).every(([name, text]) => {
      const file = path.join(folder, name)
      checkOwner(file)
      return (lstatSync(file).mode & 0o111) !== 0 && readFileSync(file, 'utf8') === text
    })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

/** Executables that another user may change are not handed out. */
function checkOwner(place: string): void {
  const { uid, mode } = lstatSync(place)
  const own = process.getuid?.()
  const isSafe = own === undefined || ((uid === own || uid === 0) && (mode & 0o022) === 0)
  if (!isSafe) throw Object.assign(new Error(`${place} can be written by another user`), { code: 'EPERM' })
}

function script(node: readonly string[], entry: string, help: string): string {
  const [program = 'node', ...flags] = node
  // `printf` is a part of the shell: the help starts no other program.
  return `#!/bin/sh
# Made by muster envtest; changes are overwritten.
for word do
  case "$word" in
    -h | --help)
      printf %s ${quoted(help)}
      exit 0
      ;;
  esac
done
node=${quoted(program)}
[ -x "$node" ] || node=node
entry=${quoted(entry)}
if [ ! -f "$entry" ]; then
  echo "\${0##*/}: $entry is gone: run muster envtest again" >&2
  exit 1
fi
exec "$node" ${flags.map((flag) => `${quoted(flag)} `).join('')}"$entry" "$@"
`
}

/**
 * There is no kubectl here, but there mostly is one on the path: the first one that is not this script. Words of the shell alone,
 * so that a poor path cannot make it call itself.
 */
const kubectlScript = `#!/bin/sh
# Made by muster envtest; changes are overwritten.
own=$(cd -P "\${0%/*}" && pwd) || exit
rest=$PATH:
while [ -n "$rest" ]; do
  folder=\${rest%%:*}
  rest=\${rest#*:}
  [ -n "$folder" ] && [ -x "$folder/kubectl" ] && [ ! -d "$folder/kubectl" ] || continue
  [ "$(cd -P "$folder" && pwd)" = "$own" ] || exec "$folder/kubectl" "$@"
done
echo "kubectl: not found on the PATH. muster envtest brings no kubectl of its own: install one (https://kubernetes.io/docs/tasks/tools)." >&2
exit 127
`

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
