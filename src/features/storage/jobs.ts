import type { Connection } from '../../db/open.ts'
import { giveBackSpace } from '../../db/space.ts'
import type { RepeatingJob } from '../../jobs/runner.ts'

const MINUTE_MS = 60_000

/** Gives the room of deleted rows back to the disk, in small steps. */
export function giveBackSpaceJob({ connection }: { connection: Connection }): RepeatingJob {
  return {
    name: 'storage.give-back',
    everyMs: 10 * MINUTE_MS,
    run: async (signal) => void (await giveBackSpace(connection, signal)),
  }
}
