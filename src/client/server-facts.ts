/** What a server says about itself: its version, and the names under which charts ask for what it serves. */
import { formatApiVersion, type GroupVersionKind } from '../kube/kind.ts'
import { MusterError } from '../kube/muster-error.ts'
import { readJson } from './body.ts'
import type { Client, RequestOptions } from './client.ts'
import { clientErrors } from './errors.ts'

/** Such as `v1.33.4`. */
export async function serverVersion(client: Pick<Client, 'request'>, options: RequestOptions = {}): Promise<string> {
  const { body } = await client.request({ method: 'GET', path: '/version', ...options })
  const { gitVersion } = (await readJson(body, 'GET /version')) as { readonly gitVersion?: unknown }
  if (typeof gitVersion === 'string') return gitVersion
  throw new MusterError(clientErrors.UnexpectedAnswer, 'GET /version: the response has no gitVersion.')
}

/** `apps/v1` and `apps/v1/Deployment`. */
export function servedApis(kind: GroupVersionKind): readonly string[] {
  const apiVersion = formatApiVersion(kind)
  return [apiVersion, `${apiVersion}/${kind.kind}`]
}
