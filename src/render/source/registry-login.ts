/** The login of a registry in the file that `docker login` writes: what Secrets of type kubernetes.io/dockerconfigjson hold. */
import { isJsonObject, type JsonObject, parseJson } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import type { SourceCredentials } from './oci-registry.ts'

/**
 * Undefined if the text has no login for the host, or is no such file: it may be secret, and is not quoted.
 * @param host with the port, if there is one
 */
export function registryLogin(config: string, host: string): SourceCredentials | undefined {
  const auths = ownMember(objectOf(config), 'auths')
  if (!isJsonObject(auths)) return undefined
  const name = Object.keys(auths).find((each) => hostOf(each) === host.toLowerCase())
  const login = name === undefined ? undefined : ownMember(auths, name)
  return isJsonObject(login) ? credentialsIn(login) : undefined
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const json = parseJson(text)
    return isJsonObject(json) ? json : undefined
  } catch {
    return undefined
  }
}

/** Keys are hosts, or URLs: `https://registry.example.com/v1/`. */
function hostOf(name: string): string {
  return name
    .replace(/^https?:\/\//, '')
    .split('/', 1)[0]!
    .toLowerCase()
}

function credentialsIn(login: JsonObject): SourceCredentials | undefined {
  const [username, password, auth] = ['username', 'password', 'auth'].map((name) => ownMember(login, name))
  if (typeof username === 'string' && typeof password === 'string') return { username, password }
  if (typeof auth !== 'string') return undefined
  const text = Buffer.from(auth, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}
