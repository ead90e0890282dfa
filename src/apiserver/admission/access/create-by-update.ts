/**
 * A patch or an update of a missing object may create it. The request was authorized as a patch or update; the user
 * must be allowed to create, too.
 */
import type { AdmissionPlugin } from '../../cluster/admission.ts'

/** The real server checks this before the first validating plugin. */
export const createByUpdate: AdmissionPlugin = {
  name: 'CreateByUpdate',
  validate({ access }, { isByUpdate, served, subresource, namespace, name, user }) {
    if (!isByUpdate) return
    const { group, version, plural: resource } = served
    access.check(user, {
      verb: 'create',
      group,
      version,
      resource,
      namespace,
      name,
      ...(subresource !== '' && { subresource }),
    })
  },
}
