/** Errors about Kubernetes data: MUS10xx. */
import { defineErrors, type ErrorTable } from './muster-error.ts'

const table = {
  InvalidQuantity: {
    code: 'MUS1001',
    retry: 'terminal',
    meaning: 'Not a valid quantity (CPU, memory, a count).',
    cure: 'Write a number with an optional suffix: 100m, 1.5, 1Gi, 1e3.',
  },
  InvalidSelector: {
    code: 'MUS1002',
    retry: 'terminal',
    meaning: 'Not a valid label or field selector.',
    cure: 'Write requirements joined by commas: app=web, tier in (a,b), !legacy.',
  },
  InvalidDuration: {
    code: 'MUS1003',
    retry: 'terminal',
    meaning: 'Not a valid duration.',
    cure: 'Write numbers with units: 90s, 1h30m, 250ms.',
  },
  InvalidName: {
    code: 'MUS1004',
    retry: 'terminal',
    meaning: 'Not a valid Kubernetes name.',
    cure: 'Use the format that the message describes, usually lower-case letters, digits and dashes.',
  },
  InvalidYaml: {
    code: 'MUS1005',
    retry: 'terminal',
    meaning: 'A YAML document cannot be parsed.',
    cure: 'Correct the YAML at the line in the message.',
  },
  InvalidPatch: {
    code: 'MUS1006',
    retry: 'terminal',
    meaning: 'A patch is malformed, or cannot be applied to its object.',
    cure: 'Correct the patch: the message names the operation or path.',
  },
  PatchTestFailed: {
    code: 'MUS1007',
    retry: 'conflict',
    meaning: 'A `test` operation of a JSON patch failed.',
    cure: 'The live object differs from what the patch expects; read it again and create the patch anew.',
  },
  ApplyConflict: {
    code: 'MUS1008',
    retry: 'conflict',
    meaning: 'A server-side apply would change fields that another field manager owns.',
    cure: 'Omit the named fields, or apply with force to take over their ownership.',
  },
  InvalidFieldSet: {
    code: 'MUS1009',
    retry: 'terminal',
    meaning: 'An entry of metadata.managedFields cannot be decoded.',
    cure: 'Correct the managedFields entry in the message, or clear managedFields.',
  },
  SchemaMismatch: {
    code: 'MUS1010',
    retry: 'terminal',
    meaning: 'A value does not have the type that its schema requires.',
    cure: 'Give the field at the named path the type of its schema.',
  },
  InvalidObject: {
    code: 'MUS1011',
    retry: 'terminal',
    meaning: 'A Kubernetes object lacks a required part: apiVersion, kind or metadata.',
    cure: 'Add the part that the message names.',
  },
  InvalidOwner: {
    code: 'MUS1012',
    retry: 'terminal',
    meaning: 'An owner reference to this owner is not allowed.',
    cure: 'Set owners only in the same namespace (or cluster-scoped ones), and only one controller per object.',
  },
  InvalidExpression: {
    code: 'MUS1013',
    retry: 'terminal',
    meaning: 'A CEL expression does not compile.',
    cure: 'Correct the expression at the position in the message.',
  },
  ExpressionFailed: {
    code: 'MUS1014',
    retry: 'terminal',
    meaning: 'A CEL expression failed for the given data.',
    cure: 'Guard optional fields with has() or optionals, or correct the data.',
  },
  InvalidProtobuf: {
    code: 'MUS1015',
    retry: 'terminal',
    meaning: 'A protobuf body cannot be decoded, or does not match the message of its kind.',
    cure: 'Send protobuf as written by a Kubernetes client library, or send JSON.',
  },

  UnknownKind: {
    code: 'MUS1701',
    retry: 'terminal',
    meaning: 'A kind is not built in, and its plural and scope are unknown.',
    cure: 'Correct its name; or give its plural and scope, or define it with defineKind.',
  },
  InvalidJsonPath: {
    code: 'MUS1713',
    retry: 'terminal',
    meaning: 'A JSONPath is not valid, or visits more values than allowed.',
    cure: "Write it like $.spec.refs[*].name or $.spec.refs[?(@.kind == 'Secret')].name; the message contains the position.",
  },
} as const

export const kubeErrors: ErrorTable<typeof table> = defineErrors(table)
