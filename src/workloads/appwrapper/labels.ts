/** Labels and names by which AppWrappers, their objects and their pods are found. */
import { appWrapperGroup } from './appwrapper.ts'

/** The name of the AppWrapper, on wrapped objects and their pods: what other programs select by. */
export const nameLabel: string = `${appWrapperGroup}/appwrapper`
/** Its uid: names are unique in a namespace only, and a later AppWrapper may have the name of an earlier one. */
export const uidLabel: string = 'workload.muster.dev/appwrapper'
/** Of v1beta1. */
export const legacyNameLabel = 'appwrapper.mcad.ibm.com'
export const legacyObjectLabel = 'resourceName'
/** Who created the AppWrapper. */
export const userLabel: string = `${appWrapperGroup}/user`
export const userIdLabel: string = `${appWrapperGroup}/userid`
/** `spec.managedBy` of those that this operator reconciles; so does an absent one. */
export const ownManager: string = `${appWrapperGroup}/appwrapper-controller`
