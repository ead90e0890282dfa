/** The folder of fetched charts, where no other is named. */
import { homedir } from 'node:os'
import path from 'node:path'

export function chartCacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return path.join(env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'muster', 'charts')
}
