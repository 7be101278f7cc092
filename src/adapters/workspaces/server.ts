import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { type ByteLink, CHANNEL_PROTOCOL, type Channel, openChannel } from '../files/channel.ts'
import type { FolderRoot } from '../files/open.ts'
import { RemoteAnswer } from '../git/messages.ts'
import type { SendToRemote } from '../git/remote.ts'
import { createGitRunner, type GitRunner } from '../git/runner.ts'
import { type Download, openFolderFiles } from './workspace.ts'

/** More downloads than this at once are refused. */
const MAX_DOWNLOADS = 32
const MAX_PACK_BYTES = 40 * 1024 * 1024

const Author = z.object({ name: z.string(), email: z.string(), timeSeconds: z.number() })
const WriteOptions = z.object({ ifMatch: z.string().nullable().optional() })
const Bytes = z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64')))
const text = (value: unknown) => z.string().parse(value)
const number = (value: unknown) => z.number().parse(value)

/**
 * Serves a working tree to the peer until it disconnects. Git requests go through the peer, which adds credentials, so
 * this process needs neither network nor passwords.
 */
export async function serveWorkspace(link: ByteLink, root: FolderRoot, git: GitRunner): Promise<void> {
  const files = openFolderFiles(root, git)
  const channel: Channel = openChannel(link, {
    hello: async () => ({ protocol: CHANNEL_PROTOCOL }),
    tree: (depth) => files.tree(number(depth)),
    searchNames: (wanted) => files.searchNames(text(wanted)),
    searchContent: (wanted) => files.searchContent(text(wanted)),
    read: (path) => files.read(text(path)),
    write: (path, bytes, options) => files.write(text(path), Bytes.parse(bytes), WriteOptions.parse(options).ifMatch),
    makeFolder: (path) => files.makeFolder(text(path)),
    rename: (from, to) => files.rename(text(from), text(to)),
    delete: (path) => files.delete(text(path)),
    status: () => files.status(),
    diff: (path) => files.diff(z.string().nullable().parse(path)),
    log: (limit) => files.log(number(limit)),
    commit: (message, author) => files.commit(text(message), Author.parse(author)),
    init: (message, author) => files.init(text(message), Author.parse(author)),
    push: () =>
      git.push(
        root,
        sendThrough(() => channel),
      ),
    ...serveDownloads((path) => files.download(path)),
  })
  await channel.ended
}

/** Runs `serveWorkspace` on standard input and output; nothing else may write to standard output. */
export async function serveStandardStreams(root: FolderRoot): Promise<void> {
  const write = async (text: string) => void (await Bun.write(Bun.stdout, text))
  await serveWorkspace({ input: Bun.stdin.stream(), write }, root, createGitRunner())
}

/** The peer requests chunks of a download at its own pace. */
function serveDownloads(download: (path: string) => Promise<Download>) {
  const pieces = new Map<number, AsyncIterator<Uint8Array>>()
  let last = 0
  return {
    async open(path: unknown) {
      if (pieces.size >= MAX_DOWNLOADS) throw new AppError('unavailable', 'Too many downloads at once')
      const { name, size, body } = await download(text(path))
      last += 1
      pieces.set(last, body[Symbol.asyncIterator]())
      return { download: last, name, size }
    },
    async next(key: unknown) {
      const piece = await pieces.get(number(key))?.next()
      return piece && !piece.done ? Buffer.from(piece.value).toString('base64') : null
    },
    async leave(key: unknown) {
      await pieces.get(number(key))?.return?.()
      pieces.delete(number(key))
    },
  }
}

/** @throws AppError `too_large` for a pack above the channel's line limit. */
function sendThrough(channel: () => Channel): SendToRemote {
  return async ({ body, ...request }) => {
    if (body.length > MAX_PACK_BYTES) throw new AppError('too_large', 'The commits are too large')
    return channel().call(RemoteAnswer, 'ask', { ...request, body: Buffer.from(body).toString('base64') })
  }
}
