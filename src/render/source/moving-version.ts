/**
 * What a version that may move means now: a tag, a range of versions, the newest release. Only the registry or the index of the
 * chart repository is read, no archive. Nothing is cached and nothing is retried: the caller asks again when it is time.
 */
import { createFetcher, type FetcherOptions } from './http-fetch.ts'
import { locateInRepository } from './chart-repository.ts'
import type { ChartSource } from './chart-source.ts'
import { isOciReference, parseOciReference } from './oci-reference.ts'
import { createRegistry, type SourceCredentials } from './oci-registry.ts'

/** A version that does not move. */
export interface FixedVersion {
  /** A version, or a tag. */
  readonly version?: string
  /** Of the manifest in a registry, or of the archive in a chart repository. */
  readonly digest?: string
}

interface ResolveOptions extends Pick<FetcherOptions, 'clock' | 'random' | 'ca' | 'env' | 'signal'> {
  readonly credentials?: SourceCredentials | undefined
  readonly plainHttp?: boolean | undefined
}

/** For one request. */
const attemptMs = 10_000

/** @throws SourceNotFound, SourceUnavailable (with the wait that a server asks for), SourceRefused, DigestMismatch */
export async function resolveVersion(
  { source, repository, version }: ChartSource,
  { credentials, plainHttp, ...options }: ResolveOptions,
): Promise<FixedVersion> {
  const fetcher = createFetcher({ ...options, attempts: 1, attemptMs, longestWaitMs: 0 })
  try {
    if (isOciReference(source)) {
      const registry = createRegistry({ fetcher, credentials, plainHttp })
      const { tag, digest } = await registry.resolve(parseOciReference(source), version)
      return { digest, ...(tag !== undefined && { version: tag }) }
    }
    const found = await locateInRepository(repository ?? '', source, version, { fetcher, credentials })
    return { version: found.version, ...(found.digest !== undefined && { digest: found.digest }) }
  } finally {
    await fetcher.close()
  }
}
