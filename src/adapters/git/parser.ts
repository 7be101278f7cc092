import { z } from 'zod'
import type { ChannelFunctions } from '../files/channel.ts'
import type { FolderRoot } from '../files/open.ts'
import type { AskParent } from '../parsers/serve.ts'
import { gitCommit, gitDiff, gitInit, gitLog, gitStatus } from './git.ts'
import { RemoteAnswer } from './messages.ts'
import { gitPush } from './push.ts'
import type { SendToRemote } from './remote.ts'

const Root: z.ZodType<FolderRoot> = z.object({ base: z.string(), below: z.array(z.string()) })
const Author = z.object({ name: z.string(), email: z.string(), timeSeconds: z.number() })
/** The parent reads one chunk at a time and runs other work in between. */
const PIECE_BYTES = 1024 * 1024

export function openParser(ask: AskParent): ChannelFunctions {
  return {
    status: async (root) => gitStatus(Root.parse(root)),
    diff: async (root, path) => gitDiff(Root.parse(root), z.string().nullable().parse(path)),
    log: async (root, limit) => gitLog(Root.parse(root), z.number().parse(limit)),
    commit: async (root, message, author) =>
      gitCommit(Root.parse(root), z.string().parse(message), Author.parse(author)),
    init: async (root, message, author) => gitInit(Root.parse(root), z.string().parse(message), Author.parse(author)),
    push: async (root) => gitPush(Root.parse(root), sendThrough(ask)),
  }
}

function sendThrough(ask: AskParent): SendToRemote {
  return async ({ body, ...request }) => {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
      await ask(z.null(), { piece: bytes.subarray(from, from + PIECE_BYTES).toString('base64') })
    }
    return ask(RemoteAnswer, { request })
  }
}
