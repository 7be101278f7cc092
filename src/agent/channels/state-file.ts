import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { z } from 'zod'
import { TaskQueue } from '../../core/concurrency/keyed-queue.ts'
import { systemCode, writeAtomically } from '../state/files.ts'

/** A small state that is on disk before anybody sees it changed. */
export type StateFile<State> = {
  read(): State
  /** One change after the other; nothing is changed when it cannot be written. */
  change<Result>(change: (state: State) => { state: State; result: Result }): Promise<Result>
}

/** Begins with `initial` where there is no file. @throws what the disk says, and ZodError for a file that is no such state. */
export async function openStateFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  initial: z.infer<Schema>,
): Promise<StateFile<z.infer<Schema>>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (text === null) await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  let current = text === null ? initial : schema.parse(JSON.parse(text))
  const queue = new TaskQueue()
  return {
    read: () => current,
    change: (change) =>
      queue.run(async () => {
        const { state, result } = change(current)
        if (state !== current) await writeAtomically(path, JSON.stringify(state))
        current = state
        return result
      }),
  }
}
