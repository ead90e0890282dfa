/**
 * A patch or an update of what is not there may create it. The request was allowed as a patch; whoever makes it must be
 * allowed to create, too.
 */
import type { AdmissionPlugin } from '../cluster/admission.ts'

/** The real server asks this before the first validating plugin. */
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
