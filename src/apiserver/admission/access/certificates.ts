/**
 * CertificateApproval, CertificateSigning and CertificateSubjectRestriction: approving or signing a request takes the
 * verb `approve` or `sign` on its signer, or on all signers of its domain. And no certificate of the API server's
 * client signer may be for the group `system:masters`.
 */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { CertificateSigningRequest } from '../../../kube/types/certificates/v1.ts'
import { forbidden } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../cluster/admission.ts'

const table = 'certificatesigningrequests.certificates.k8s.io'
const clientSigner = 'kubernetes.io/kube-apiserver-client'

export const certificateApproval: AdmissionPlugin = {
  name: 'CertificateApproval',
  validate(state, request) {
    const { served, subresource, operation, name } = request
    if (served.table !== table || subresource !== 'approval' || operation !== 'UPDATE') return
    const signer = signerOf(request)
    if (maySigner(state, request, 'approve', signer)) return
    throw forbidden(served, name, `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`)
  },
}

export const certificateSigning: AdmissionPlugin = {
  name: 'CertificateSigning',
  validate(state, request) {
    const { served, subresource, operation, name, object, oldObject } = request
    if (served.table !== table || subresource !== 'status' || operation !== 'UPDATE') return
    const [now, before] = [object, oldObject].map(
      (one) => (one as unknown as CertificateSigningRequest | undefined)?.status ?? {},
    )
    const shown = ({ certificate = '', conditions = [] }: NonNullable<typeof now>): Json => [
      certificate,
      conditions as unknown as Json,
    ]
    if (equalJson(shown(now!), shown(before!))) return
    const signer = signerOf(request)
    if (maySigner(state, request, 'sign', signer)) return
    throw forbidden(served, name, `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`)
  },
}

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate(_state, { served, subresource, operation, name, object }) {
    if (served.table !== table || subresource !== '' || operation !== 'CREATE') return
    const { spec } = object as unknown as CertificateSigningRequest
    if (spec.signerName !== clientSigner || !organizationsOf(spec.request).includes('system:masters')) return
    throw forbidden(served, name, `use of ${clientSigner} signer with system:masters group is not allowed`)
  },
}

/** The signer of the stored request: a client cannot switch to a signer that it may use. */
function signerOf({ oldObject }: AdmissionRequest): string {
  return (oldObject as unknown as CertificateSigningRequest).spec.signerName
}

function maySigner({ access }: ClusterState, { user }: AdmissionRequest, verb: string, signer: string): boolean {
  const domain = signer.split('/', 1)[0]!
  return [signer, `${domain}/*`].some(
    (name) =>
      access.rbac.decide(user, { verb, group: 'certificates.k8s.io', version: '*', resource: 'signers', name }).allowed,
  )
}

/** The attribute type `organizationName` in DER; its value follows as a tagged string. */
const organization = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x0a])

function organizationsOf(request: string): readonly string[] {
  const pem = Buffer.from(request, 'base64').toString()
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const found: string[] = []
  for (let at = der.indexOf(organization); at >= 0; at = der.indexOf(organization, at + 1)) {
    const start = at + organization.length + 2
    found.push(der.subarray(start, start + (der[start - 1] ?? 0)).toString())
  }
  return found
}
