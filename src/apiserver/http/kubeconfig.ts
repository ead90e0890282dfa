/** The kubeconfig of one user of a listener, as text. */
import type { Certificate } from '../../pki/certificate-authority.ts'
import type { ServerListener } from './listener.ts'

/** By a bearer token, or by a client certificate. */
type KubeconfigUser = { readonly token: string } | { readonly certificate: Certificate }

/** Written without a YAML library: nothing here needs quoting, and loading one takes longer than starting the server. */
export function kubeconfigText({ url, ca }: Pick<ServerListener, 'url' | 'ca'>, user: KubeconfigUser): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: muster
  cluster:
    server: ${url}
    certificate-authority-data: ${base64(ca)}
users:
- name: muster
  user:
${credentialsOf(user).join('\n')}
contexts:
- name: muster
  context:
    cluster: muster
    user: muster
    namespace: default
current-context: muster
`
}

function credentialsOf(user: KubeconfigUser): readonly string[] {
  if ('token' in user) return [`    token: ${user.token}`]
  const { cert, key } = user.certificate
  return [`    client-certificate-data: ${base64(cert)}`, `    client-key-data: ${base64(key)}`]
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
