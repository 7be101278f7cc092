import Database from 'better-sqlite3'
import { checkpoint } from './wal.ts'

/** `checkpoint` runs a passive checkpoint, `close` closes the file. */
export type CheckpointRequest = { file: string; wanted: 'checkpoint' | 'close' }

/** Frames of the write-ahead log, and how many of them are copied into the database. */
export type CheckpointReply = { frames: number; copied: number } | { error: string }

declare const self: Worker

let sqlite: Database.Database | undefined

self.onmessage = ({ data }: MessageEvent<CheckpointRequest>) => {
  self.postMessage(answer(data))
}

function answer({ file, wanted }: CheckpointRequest): CheckpointReply {
  try {
    if (wanted === 'close') {
      sqlite?.close()
      sqlite = undefined
      return { frames: 0, copied: 0 }
    }
    sqlite ??= new Database(file, { fileMustExist: true })
    const { frames, copied } = checkpoint(sqlite, 'PASSIVE')
    return { frames, copied }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}
