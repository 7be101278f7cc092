import { open, rename, stat, truncate } from 'node:fs/promises'
import { type AgentFolder, errorCode } from './process-files.ts'

/** Reading from the end stops here, so one call never holds more than this of a log. */
const MAX_READ_BYTES = 4 * 1024 * 1024

/**
 * Moves a log of more than `maxBytes` to `agent.log.1`, replacing the one before. For an agent without a process: a living
 * one would go on writing into the moved file.
 */
export async function rotateLog(folder: AgentFolder, maxBytes: number): Promise<void> {
  if ((await sizeOf(folder.log)) > maxBytes) await rename(folder.log, folder.olderLog)
}

/**
 * The same for a living agent, whose handle stays on the file: its end is copied and the file cut. What it writes in the
 * milliseconds between is lost.
 */
export async function cutLog(folder: AgentFolder, maxBytes: number): Promise<void> {
  const sizeBytes = await sizeOf(folder.log)
  if (sizeBytes <= maxBytes) return
  const copy = `${folder.olderLog}.new`
  await Bun.write(copy, await readEnd(folder.log, maxBytes), { mode: 0o600 })
  await rename(copy, folder.olderLog)
  await truncate(folder.log, 0)
}

/** The last `tail` lines over both files, oldest first. */
export async function readLog(folder: AgentFolder, tail: number): Promise<string[]> {
  if (tail <= 0) return []
  const lines = toLines(await readEnd(folder.log, MAX_READ_BYTES))
  if (lines.length >= tail) return lines.slice(-tail)
  return [...toLines(await readEnd(folder.olderLog, MAX_READ_BYTES)), ...lines].slice(-tail)
}

function toLines(bytes: Uint8Array): string[] {
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** The last `maxBytes` of a file, beginning with a whole line; empty when there is no file. */
async function readEnd(path: string, maxBytes: number): Promise<Uint8Array> {
  const sizeBytes = await sizeOf(path)
  if (sizeBytes === 0) return new Uint8Array()
  const file = await open(path, 'r')
  try {
    const start = Math.max(0, sizeBytes - maxBytes)
    const buffer = new Uint8Array(sizeBytes - start)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start)
    const bytes = buffer.subarray(0, bytesRead)
    return start === 0 ? bytes : bytes.subarray(bytes.indexOf(10) + 1)
  } finally {
    await file.close()
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0
    throw error
  }
}
