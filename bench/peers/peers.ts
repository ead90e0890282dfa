/** The clients that we compare with: npm packages from their own lockfile, the Go program built from the module proxy. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** False when npm could not install them. */
export function installPeers(log: (line: string) => void): boolean {
  if (existsSync(path.join(here, 'node_modules', '@kubernetes', 'client-node'))) return true
  log('installing the peers (once)')
  const { status } = spawnSync(
    'npm',
    ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: here,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32',
    },
  )
  return status === 0
}

/** The path of the controller-runtime program, built once; undefined without Go. */
export function controllerRuntime(log: (line: string) => void): string | undefined {
  return goProgram('controller-runtime', ['main.go'], log)
}

/** The same for the operator that is compared with Muster's. */
export function operatorPeer(log: (line: string) => void): string | undefined {
  return goProgram('ten-operators', ['main.go', 'reconciler.go', 'applying.go', 'widget.go'], log)
}

/** Starts and stops a test control plane with envtest, and prints how long that took. */
export function envtestPeer(log: (line: string) => void): string | undefined {
  return goProgram('envtest', ['main.go'], log)
}

/** Renders a chart with Helm's library, and prints how long that took. */
export function helmLibrary(log: (line: string) => void): string | undefined {
  return goProgram('helm-library', ['main.go'], log)
}

function goProgram(name: string, sources: readonly string[], log: (line: string) => void): string | undefined {
  if (spawnSync('go', ['version']).status !== 0) return undefined
  const folder = path.join(here, name)
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum', ...sources]) hash.update(readFileSync(path.join(folder, file)))
  const cache = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'muster', 'bench')
  const binary = path.join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(binary)) return binary
  log(`building the peer ${name} (once)`)
  mkdirSync(cache, { recursive: true })
  const { status } = spawnSync('go', ['build', '-trimpath', '-o', binary, '.'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  })
  return status === 0 ? binary : undefined
}
