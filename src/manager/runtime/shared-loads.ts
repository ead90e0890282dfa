/**
 * A posting is loaded once, however many of us need it: who works it, and who answers its webhooks. Where it is isolated, that
 * is one guest and not two. It ends with the last who needs it.
 */
import { isSameAssignment, type Assignment } from './assignment.ts'

interface Closable {
  close?(): Promise<void>
}

/** `close` of what it resolves to says that it is needed no more. */
export function shareLoads<T extends Closable>(
  load: (posting: Assignment) => Promise<T>,
): (posting: Assignment) => Promise<T> {
  const shared = new Set<{ readonly posting: Assignment; readonly loading: Promise<T>; users: number }>()
  return async (posting) => {
    const known = [...shared].find((each) => each.posting.id === posting.id && isSameAssignment(each.posting, posting))
    const one = known ?? { posting, loading: load(posting), users: 0 }
    shared.add(one)
    one.users++
    let isNeeded = true
    const close = async (): Promise<void> => {
      if (!isNeeded) return
      isNeeded = false
      if (--one.users > 0) return
      shared.delete(one)
      const loaded = await one.loading.catch(() => undefined)
      await loaded?.close?.()
    }
    try {
      return { ...(await one.loading), close }
    } catch (error) {
      await close()
      throw error
    }
  }
}
