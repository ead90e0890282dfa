/** Validation of security contexts of pods and containers. */
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { goStruct } from '../values/go-struct.ts'
import {
  duplicate,
  noErrors,
  invalidField,
  unsupportedField,
  type Problems,
  requiredField,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkLocalDescendingPath, checkId } from '../values/value-validation.ts'

export function* checkPodSecurity(context: PodSecurityContext, spec: PodSpec, field: string): Iterable<Cause> {
  yield* checkId(context.fsGroup, `${field}.fsGroup`)
  yield* checkId(context.runAsUser, `${field}.runAsUser`)
  yield* checkId(context.runAsGroup, `${field}.runAsGroup`)
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    yield* checkId(group, `${field}.supplementalGroups[${index}]`)
  }
  yield* checkSysctls(context.sysctls ?? [], spec, `${field}.sysctls`)
  yield* checkChoice(context.fsGroupChangePolicy, ['Always', 'OnRootMismatch'], `${field}.fsGroupChangePolicy`)
  yield* checkSeccomp(context.seccompProfile, `${field}.seccompProfile`)
  yield* checkAppArmor(context.appArmorProfile, `${field}.appArmorProfile`)
  yield* checkChoice(context.supplementalGroupsPolicy, ['Merge', 'Strict'], `${field}.supplementalGroupsPolicy`)
  yield* checkChoice(context.seLinuxChangePolicy, ['MountOption', 'Recursive'], `${field}.seLinuxChangePolicy`)
}

export function* checkContainerSecurity(
  context: SecurityContext,
  field: string,
  { hostUsers }: { readonly hostUsers: boolean },
): Iterable<Cause> {
  yield* checkId(context.runAsUser, `${field}.runAsUser`)
  yield* checkId(context.runAsGroup, `${field}.runAsGroup`)
  yield* checkChoice(context.procMount, ['Default', 'Unmasked'], `${field}.procMount`)
  if (hostUsers && context.procMount === 'Unmasked') {
    yield invalidField(`${field}.procMount`, context.procMount, '`hostUsers` must be false to use `Unmasked`')
  }
  yield* checkSeccomp(context.seccompProfile, `${field}.seccompProfile`)
  if (context.allowPrivilegeEscalation === false) {
    const cannot = (what: string): Cause =>
      invalidField(
        field,
        goStruct(context, 'SecurityContext'),
        `cannot set \`allowPrivilegeEscalation\` to false and ${what}`,
      )
    if (context.privileged) yield cannot('`privileged` to true')
    if (context.capabilities?.add?.includes('CAP_SYS_ADMIN')) yield cannot('`capabilities.Add` CAP_SYS_ADMIN')
  }
  yield* checkAppArmor(context.appArmorProfile, `${field}.appArmorProfile`)
}

function checkChoice(value: string | undefined, supported: readonly string[], field: string): Problems {
  return value === undefined || supported.includes(value) ? noErrors : [unsupported(field, value, supported)]
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

function* checkSeccomp(profile: SeccompProfile | undefined, field: string): Iterable<Cause> {
  if (!profile) return
  const { type, localhostProfile } = profile
  if (!type) yield requiredField(`${field}.type`, 'type is required when seccompProfile is set')
  else yield* unsupportedField(`${field}.type`, type, profileTypes)
  const at = `${field}.localhostProfile`
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined) {
      yield invalidField(at, goStruct(profile, 'SeccompProfile'), 'can only be set when seccomp type is Localhost')
    }
  } else if (localhostProfile === undefined) yield requiredField(at, 'must be set when seccomp type is Localhost')
  else yield* checkLocalDescendingPath(localhostProfile, at)
}

const longestProfile = 4095

function* checkAppArmor(profile: AppArmorProfile | undefined, field: string): Iterable<Cause> {
  if (!profile) return
  const { type, localhostProfile } = profile
  const at = `${field}.localhostProfile`
  if (!type) yield requiredField(`${field}.type`, 'type is required when appArmorProfile is set')
  else if (type === 'Localhost') {
    if (!localhostProfile?.trim()) yield requiredField(at, 'must be set when AppArmor type is Localhost')
    else if (localhostProfile.trim() !== localhostProfile) {
      yield invalidField(at, localhostProfile, 'must not be padded with whitespace')
    }
    if (Buffer.byteLength(localhostProfile ?? '') > longestProfile) yield tooLong(at, longestProfile)
  } else if (!profileTypes.includes(type)) yield unsupported(`${field}.type`, type, profileTypes)
  else if (localhostProfile !== undefined) {
    yield invalidField(at, localhostProfile, 'can only be set when AppArmor type is Localhost')
  }
}

const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'
const sysctlName = new RegExp(sysctlPattern)
const longestSysctl = 253

function* checkSysctls(
  sysctls: NonNullable<PodSecurityContext['sysctls']>,
  { hostNetwork, hostIPC }: PodSpec,
  field: string,
): Iterable<Cause> {
  const seen = new Set<string>()
  for (const [index, { name }] of sysctls.entries()) {
    const at = `${field}[${index}].name`
    if (!name) yield requiredField(at)
    else if (name.length > longestSysctl || !sysctlName.test(name)) {
      yield invalidField(at, name, `must have at most ${longestSysctl} characters and match regex ${sysctlPattern}`)
    } else if (seen.has(name)) yield duplicate(at, name)
    const dotted = name.replaceAll('/', '.')
    if (hostNetwork && dotted.startsWith('net.')) {
      yield invalidField(at, name, "may not be specified when 'hostNetwork' is true")
    } else if (hostIPC && /^(?:kernel\.shm|kernel\.msg|fs\.mqueue\.|kernel\.sem$)/.test(dotted)) {
      yield invalidField(at, name, "may not be specified when 'hostIPC' is true")
    }
    seen.add(name)
  }
}
