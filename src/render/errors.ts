/** Errors of rendering: MUS22xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  TemplateInvalid: {
    code: 'MUS2201',
    retry: 'terminal',
    meaning: 'A template of a chart cannot be parsed.',
    cure: 'Correct the template at the line in the message.',
  },
  TemplateFailed: {
    code: 'MUS2202',
    retry: 'terminal',
    meaning: 'A template of a chart failed: a value is missing or has the wrong type, or the chart refuses the values.',
    cure: 'Correct the values that the message names, or the template at the line in the message.',
  },
  TemplateUnbounded: {
    code: 'MUS2203',
    retry: 'terminal',
    meaning: 'A template of a chart does not end, or creates more text than allowed.',
    cure: 'Bound the loop or recursion at the line in the message; or raise the budget of the render.',
  },
  InvalidChart: {
    code: 'MUS2211',
    retry: 'terminal',
    meaning: 'A chart is not valid, or cannot be rendered for this cluster.',
    cure: 'Correct the file of the chart that the message names, or choose another chart or version.',
  },
  InvalidValues: {
    code: 'MUS2212',
    retry: 'terminal',
    meaning: 'Values have the wrong form, or do not fit the schema of the chart.',
    cure: 'Correct the values that the message names; muster render --help has the syntax of the flags.',
  },
  InvalidArchive: {
    code: 'MUS2213',
    retry: 'terminal',
    meaning:
      'A chart archive or a layer of an artifact is damaged, too large, or contains what it must not contain. Nothing of it is used.',
    cure: 'Package the chart or push the artifact again; do not use archives of unknown origin.',
  },
  SourceUnavailable: {
    code: 'MUS2214',
    retry: 'transient',
    meaning:
      'A chart repository or registry cannot be reached, does not answer in time, or reports an error of its own.',
    cure: 'Retry later; check the address, the proxy and the network.',
  },
  SourceRefused: {
    code: 'MUS2215',
    retry: 'terminal',
    meaning: 'A chart repository or registry refuses the request.',
    cure: 'Check the user name, the password and the rights of this user.',
  },
  SourceNotFound: {
    code: 'MUS2216',
    retry: 'terminal',
    meaning: 'There is no such chart, artifact, version or file, or it holds something else.',
    cure: 'Check the spelling of the source and the version.',
  },
  DigestMismatch: {
    code: 'MUS2217',
    retry: 'transient',
    meaning: 'A registry or repository delivered other content than its digest says. The content is not used.',
    cure: 'Retry; if it persists, the registry or a proxy in between is broken or hostile.',
  },
  RenderStopped: {
    code: 'MUS2218',
    retry: 'terminal',
    meaning: 'Rendering a chart was stopped: it took more memory or time than allowed, or its thread was closed.',
    cure: 'Correct the chart or its values: a template repeats or grows without end.',
  },
  InvalidManifest: {
    code: 'MUS2219',
    retry: 'terminal',
    meaning: 'A rendered file is no valid manifest.',
    cure: 'Correct the template that the message names, or the values that it uses.',
  },
} as const

export const renderErrors: ErrorTable<typeof table> = defineErrors(table)
