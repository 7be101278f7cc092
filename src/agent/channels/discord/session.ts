import { join } from 'node:path'
import type { SessionInfo } from '@discordjs/ws'
import { z } from 'zod'
import { openStateFile } from '../state-file.ts'

const Session = z.object({
  resumeURL: z.string(),
  sequence: z.number(),
  sessionId: z.string(),
  shardCount: z.number(),
  shardId: z.number(),
})
const SessionState = z.object({ session: Session.nullable() })

/** Up to where the events of a session were dealt with, on disk: Discord delivers those after it once more. */
export type SessionFile = {
  read(): SessionInfo | null
  /** Everything up to its `sequence` was dealt with. On a busy server only the newest of many is written. */
  confirm(session: SessionInfo): void
  /** Discord knows it no more. */
  forget(): void
  /** Once the newest is on disk. @throws what the disk says. */
  settle(): Promise<void>
}

export async function openSessionFile(folder: string): Promise<SessionFile> {
  const file = await openStateFile(join(folder, 'discord-session.json'), SessionState, { session: null })
  let newest = file.read().session
  let writing: Promise<void> | null = null
  const writeNewest = async () => {
    while (file.read().session !== newest) await file.change(() => ({ state: { session: newest }, result: undefined }))
  }
  const keep = (session: SessionInfo | null) => {
    newest = session
    writing ??= writeNewest().finally(() => {
      writing = null
    })
    // A disk that is full is told where messages are kept; here it costs only that some are delivered twice.
    writing.catch(() => undefined)
  }
  return {
    read: () => newest,
    confirm: keep,
    forget: () => keep(null),
    async settle() {
      await writing
    },
  }
}
