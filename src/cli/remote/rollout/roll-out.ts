/** Outcome for one agent: `returned` was rolled back, `kept` was not touched. */
export type Fate = 'updated' | 'failed' | 'returned' | 'kept'

/** A member of a roll-out. Both functions throw when the agent does not run afterwards. */
export type RolloutMember = {
  name: string
  /** Updates the agent. @returns a function that rolls it back; null when nothing was replaced. */
  update(): Promise<(() => Promise<void>) | null>
}

/** `reason` says why an update or a rollback failed. */
export type MemberReport<T> = { member: T; fate: Fate; reason: string | null }

/** Called with each outcome as soon as it is known; a rollback reports the agent again. */
type Listener<T> = (report: MemberReport<T>) => void

/**
 * Updates a fleet in waves: the first agent alone, then twice as many each time, up to `mostAtOnce`. After a wave with
 * a failure no further wave starts and updated agents are rolled back; the failed one has rolled back itself.
 * @returns the outcomes in the order of `members`.
 */
export async function rollOut<T extends RolloutMember>(
  members: readonly T[],
  mostAtOnce: number,
  listen: Listener<T>,
): Promise<MemberReport<T>[]> {
  const reports = new Map<T, MemberReport<T>>(
    members.map((member) => [member, { member, fate: 'kept', reason: null } as const]),
  )
  const note = (report: MemberReport<T>) => {
    reports.set(report.member, report)
    listen(report)
  }
  const returns = new Map<T, () => Promise<void>>()
  const updateOne = async (member: T) => {
    try {
      const putBack = await member.update()
      if (putBack) returns.set(member, putBack)
      note({ member, fate: 'updated', reason: null })
      return true
    } catch (error) {
      note({ member, fate: 'failed', reason: toReason(error) })
      return false
    }
  }
  for (const wave of toWaves(members, mostAtOnce)) {
    const isWhole = (await Promise.all(wave.map(updateOne))).every(Boolean)
    if (!isWhole) {
      await putBackAll(returns, note)
      break
    }
  }
  return [...reports.values()]
}

/** One by one: a rollback must not overload the machine. */
async function putBackAll<T extends RolloutMember>(
  returns: ReadonlyMap<T, () => Promise<void>>,
  note: Listener<T>,
): Promise<void> {
  for (const [member, putBack] of returns) {
    try {
      await putBack()
      note({ member, fate: 'returned', reason: null })
    } catch (error) {
      note({ member, fate: 'failed', reason: `it did not go back: ${toReason(error)}` })
    }
  }
}

/** Wave sizes 1, 2, 4, …, up to `mostAtOnce`. */
export function toWaves<T>(members: readonly T[], mostAtOnce: number): T[][] {
  const waves: T[][] = []
  for (let start = 0, size = 1; start < members.length; size = Math.min(size * 2, mostAtOnce)) {
    waves.push(members.slice(start, start + size))
    start += size
  }
  return waves
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
