import { randomUUID } from 'node:crypto'
import { access, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { z } from 'zod'
import { TaskQueue } from '../../core/concurrency/keyed-queue.ts'
import { systemCode } from '../../core/files/system-error.ts'

const FIRST_READ_BYTES = 64 * 1024
const NEWLINE = 0x0a

/** Writes a file atomically: a synced temporary file, a rename, and a sync of the folder. */
export async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await writeSynced(temporary, content)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Makes a creation, rename or deletion in `folder` survive power loss. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Appends one line and syncs it. Removes a partial last line that a crash has left. */
export async function appendLine(path: string, line: string): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    const endBytes = await findEndOfLastLine(handle)
    await handle.truncate(endBytes)
    await handle.write(`${line}\n`, endBytes, 'utf8')
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/**
 * Returns the last complete lines, oldest first, reading backwards until `isEnough` or the file ends.
 * @returns null without the file.
 */
export async function readLastLines(path: string, isEnough: (lines: string[]) => boolean): Promise<string[] | null> {
  const handle = await openOrNull(path)
  if (!handle) return null
  try {
    const { size } = await handle.stat()
    for (let wantedBytes = FIRST_READ_BYTES; ; wantedBytes *= 4) {
      const start = Math.max(0, size - wantedBytes)
      const lines = toCompleteLines(await readRange(handle, start, size), start > 0)
      if (start === 0 || isEnough(lines)) return lines
    }
  } finally {
    await handle.close()
  }
}

/** Returns the first complete line; null if the first 64 KB have none or the file does not exist. */
export async function readFirstLine(path: string): Promise<string | null> {
  const handle = await openOrNull(path)
  if (!handle) return null
  try {
    const bytes = await readRange(handle, 0, FIRST_READ_BYTES)
    const end = bytes.indexOf(NEWLINE)
    return end === -1 ? null : bytes.toString('utf8', 0, end)
  } finally {
    await handle.close()
  }
}

type Handle = Awaited<ReturnType<typeof open>>

async function openOrNull(path: string): Promise<Handle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

async function writeSynced(path: string, content: string | Uint8Array): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(content, 'utf8')
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function readRange(handle: Handle, start: number, end: number): Promise<Buffer> {
  const buffer = Buffer.alloc(end - start)
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

async function findEndOfLastLine(handle: Handle): Promise<number> {
  const { size } = await handle.stat()
  let end = size
  while (end > 0) {
    const start = Math.max(0, end - FIRST_READ_BYTES)
    const index = (await readRange(handle, start, end)).lastIndexOf(NEWLINE)
    if (index !== -1) return start + index + 1
    end = start
  }
  return 0
}

/** Works on bytes, because a range may begin inside a character. */
function toCompleteLines(bytes: Buffer, beginsInsideLine: boolean): string[] {
  const start = beginsInsideLine ? bytes.indexOf(NEWLINE) + 1 : 0
  const end = bytes.lastIndexOf(NEWLINE)
  if (end < start || (beginsInsideLine && start === 0)) return []
  return bytes.toString('utf8', start, end).split('\n')
}

/** A small state, written to disk before readers see a change. */
type StateFile<State> = {
  read(): State
  /** Applies changes in order; a change that cannot be written has no effect. */
  change<Result>(change: (state: State) => { state: State; result: Result }): Promise<Result>
}

/** Starts with `initial` without a file. @throws NodeJS.ErrnoException, ZodError for an invalid file. */
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

/** Returns whether a file or folder exists. */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}
