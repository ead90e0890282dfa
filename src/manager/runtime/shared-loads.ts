/**
 * Loads an assignment's operator once for both of its users: the host that runs it, and the webhook server. An isolated
 * operator has one guest instead of two. It is closed when its last user closes it.
 */
import { isSameAssignment, type Assignment } from './assignment.ts'

interface Closable {
  close?(): Promise<void>
}

/** The resolved value's `close` releases this user's share. */
export function shareLoads<T extends Closable>(
  load: (assignment: Assignment) => Promise<T>,
): (assignment: Assignment) => Promise<T> {
  const shared = new Set<{ readonly assignment: Assignment; readonly loading: Promise<T>; users: number }>()
  return async (assignment) => {
    const known = [...shared].find(
      (each) => each.assignment.id === assignment.id && isSameAssignment(each.assignment, assignment),
    )
    const one = known ?? { assignment, loading: load(assignment), users: 0 }
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
