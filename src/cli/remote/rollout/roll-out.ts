/** What became of one agent: `returned` runs again as it did before the roll-out, `kept` was not touched. */
export type Fate = 'updated' | 'failed' | 'returned' | 'kept'

/** One agent of a roll-out, and how it is done to it. Both throw when the agent does not run afterwards as it should. */
export type Member = {
  name: string
  /** @returns what puts the agent back to what it ran before; null when nothing of it was replaced. */
  update(): Promise<(() => Promise<void>) | null>
}

/** `reason` is why an update, or a return, was none. */
export type MemberReport<T> = { member: T; fate: Fate; reason: string | null }

/** Is told of each agent as soon as its fate is known; a return is another word on the same agent. */
export type Listener<T> = (report: MemberReport<T>) => void

/**
 * Updates a fleet in waves: the first agent alone, then twice as many each time, up to `mostAtOnce` together. After a wave
 * in which one failed, no other begins, and those that were updated are put back; the failed one has gone back by itself.
 * @returns what became of each, in the order of `members`.
 */
export async function rollOut<T extends Member>(
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

/** One by one: what is to save a fleet must not be what brings its machine down. */
async function putBackAll<T extends Member>(
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

/** 1, 2, 4, … at once, never more than `mostAtOnce`. */
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
