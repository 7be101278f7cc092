import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { type ByteLink, CHANNEL_PROTOCOL, type Channel, openChannel } from '../files/channel.ts'
import type { FileNode, FolderNode, TreeNode } from '../files/list.ts'
import { GitCommits, RemoteRequest, RepositoryDiff, RepositoryStatus } from '../git/messages.ts'
import { createRemoteSender, type SendToRemote } from '../git/remote.ts'
import type { Download, WorkspaceFiles } from './workspace.ts'

/** Largest wait for an answer; a healthy peer answers within two minutes. */
const MAX_WAIT_MS = 150_000
const HELLO_MS = 20_000

const File: z.ZodType<FileNode> = z.object({ type: z.literal('file'), name: z.string(), path: z.string() })
const Folder: z.ZodType<FolderNode> = z.object({
  type: z.literal('folder'),
  name: z.string(),
  path: z.string(),
  get children(): z.ZodArray<z.ZodType<TreeNode>> {
    return z.array(z.union([File, Folder]))
  },
})
const Tree = z.object({ root: Folder, isComplete: z.boolean() })
const Matches = z.object({
  matches: z.array(z.object({ path: z.string(), line: z.number().nullable(), text: z.string().nullable() })),
  isComplete: z.boolean(),
})
const Written = z.object({ path: z.string(), size: z.number(), hash: z.string() })
const Read = Written.extend({ content: z.string(), modified: z.coerce.date() })
const Opened = z.object({ download: z.number(), name: z.string(), size: z.number() })
const Piece = z.base64().nullable()

/** Client of the files that `serveWorkspace` serves. */
export type ServedFiles = {
  files: WorkspaceFiles
  /** Returns the number of active downloads. */
  countDownloads(): number
  /** Resolves when the peer has disconnected. */
  ended: Promise<void>
}

/** @throws AppError `unavailable` {code: 'NOT_CONFIGURED'} when the peer's protocol version is not supported. */
export async function openServedFiles(link: ByteLink): Promise<ServedFiles> {
  const downloads = new Set<number>()
  let send: SendToRemote | null = null
  const channel = openChannel(link, {
    async ask(request) {
      if (!send) throw new AppError('forbidden', 'Nothing is being pushed')
      const answer = await send(RemoteRequest.parse(request))
      return { ...answer, body: Buffer.from(answer.body).toString('base64') }
    },
  })
  await requireProtocol(channel)
  const call = <T>(schema: z.ZodType<T>, name: string, ...args: unknown[]) =>
    within(MAX_WAIT_MS, channel, channel.call(schema, name, ...args))
  const files: WorkspaceFiles = {
    tree: (depth) => call(Tree, 'tree', depth),
    searchNames: (text) => call(Matches, 'searchNames', text),
    searchContent: (text) => call(Matches, 'searchContent', text),
    read: (path) => call(Read, 'read', path),
    download: async (path) => toDownload(call, await call(Opened, 'open', path), downloads),
    write: (path, bytes, ifMatch) =>
      call(Written, 'write', path, Buffer.from(bytes).toString('base64'), ifMatch === undefined ? {} : { ifMatch }),
    makeFolder: async (path) => void (await call(z.null(), 'makeFolder', path)),
    rename: async (from, to) => void (await call(z.null(), 'rename', from, to)),
    delete: async (path) => void (await call(z.null(), 'delete', path)),
    status: () => call(RepositoryStatus, 'status'),
    diff: (path) => call(RepositoryDiff, 'diff', path),
    log: (limit) => call(GitCommits, 'log', limit),
    commit: (message, author) => call(z.string().nullable(), 'commit', message, author),
    init: (message, author) => call(z.string().nullable(), 'init', message, author),
    async push(options) {
      send = createRemoteSender(options)
      try {
        return await call(z.string().nullable(), 'push')
      } finally {
        send = null
      }
    },
  }
  return { files, countDownloads: () => downloads.size, ended: channel.ended }
}

async function requireProtocol(channel: Channel): Promise<void> {
  try {
    await within(HELLO_MS, channel, channel.call(z.object({ protocol: z.literal(CHANNEL_PROTOCOL) }), 'hello'))
  } catch (cause) {
    channel.end()
    const text =
      'The files of the agent cannot be shown: the image of the file explorer does not start, or is another one'
    throw new AppError('unavailable', text, { code: 'NOT_CONFIGURED' }, { cause })
  }
}

/** Closes the channel when the peer exceeds its time. */
async function within<T>(maxMs: number, channel: Channel, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => channel.end(), maxMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

type Call = <T>(schema: z.ZodType<T>, name: string, ...args: unknown[]) => Promise<T>

function toDownload(call: Call, { download, name, size }: z.infer<typeof Opened>, downloads: Set<number>): Download {
  downloads.add(download)
  const leave = async () => {
    downloads.delete(download)
    await call(z.null(), 'leave', download)
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await call(Piece, 'next', download)
      if (piece !== null) return controller.enqueue(new Uint8Array(Buffer.from(piece, 'base64')))
      await leave()
      controller.close()
    },
    cancel: leave,
  })
  return { name, size, body }
}
