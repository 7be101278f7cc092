import { access, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sha256 } from '../../core/secrets.ts'
import { systemCode, writeAtomically } from '../state/files.ts'
import type { Sessions } from '../state/sessions.ts'
import type { ChannelHistory } from './history.ts'

const CHANNEL = /^(telegram|discord|slack):/

/**
 * Reports once what was said on messengers before the platform kept their history. `mark` is the file that says so; an agent
 * that never had a messenger has no folder for it.
 */
export async function handOverSessions(
  { mark, hasChannels }: { mark: string; hasChannels: boolean },
  sessions: Sessions,
  history: ChannelHistory,
): Promise<void> {
  if (!hasChannels && !(await exists(dirname(mark)))) return
  if (await exists(mark)) return
  for (const { key } of (await sessions.list()).toReversed()) {
    const platform = CHANNEL.exec(key)?.[1]
    const items = platform === undefined ? null : await sessions.readLast(key, () => false)
    for (const [index, item] of (items ?? []).entries()) {
      if (platform === undefined || item.role === 'summary') continue
      await history.add({
        type: 'message',
        id: `${sha256(key).slice(0, 24)}-${index}`,
        platform,
        session: key,
        title: null,
        sender: item.role === 'user' ? 'user' : 'agent',
        author: null,
        text: item.content,
        status: 'sent',
        at: item.timestamp,
      })
    }
  }
  await mkdir(dirname(mark), { recursive: true, mode: 0o700 })
  await writeAtomically(mark, '')
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}
