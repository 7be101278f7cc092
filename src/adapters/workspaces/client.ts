import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { createEgress, type Egress } from '../egress/egress.ts'
import { type ByteLink, CHANNEL_PROTOCOL, type Channel, openChannel } from '../files/channel.ts'
import type { FileNode, FolderNode, TreeNode } from '../files/list.ts'
import { type GitAnswer, type GitRequest, sendToRemote } from '../git/remote.ts'
import type { Download, PushOptions, WorkspaceFiles } from './workspace.ts'

/** The other end answers within a minute or two, whatever the repository; after this time it has lost its way. */
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
const Status = z.object({
  isGitRepo: z.boolean(),
  branch: z.string(),
  remote: z.string().nullable(),
  changes: z.array(z.object({ status: z.string(), path: z.string() })),
  hasChanges: z.boolean(),
})
const Diff = z.object({ unstaged: z.string().nullable(), staged: z.string().nullable(), isComplete: z.boolean() })
const Commit = z.object({ hash: z.string(), subject: z.string(), author: z.string(), time: z.coerce.date() })
const Ask = z.object({
  url: z.url({ protocol: /^https?$/ }),
  method: z.enum(['GET', 'POST']),
  headers: z.record(z.string(), z.string()),
  body: z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64'))),
})

/** The files that `serveWorkspace` serves at the other end of a link. */
export type ServedFiles = {
  files: WorkspaceFiles
  /** Files that are on their way to somebody. */
  countDownloads(): number
  /** Settles when the other end has gone. */
  ended: Promise<void>
}

/** @throws AppError `unavailable` {code: 'NOT_CONFIGURED'} when the other end is none that this version understands. */
export async function openServedFiles(link: ByteLink): Promise<ServedFiles> {
  const downloads = new Set<number>()
  let push: PushOptions | null = null
  const channel = openChannel(link, {
    async ask(request) {
      if (!push) throw new AppError('forbidden', 'Nothing is being pushed')
      const answer = await askRemote(createEgress(push), Ask.parse(request), push)
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
    status: () => call(Status, 'status'),
    diff: (path) => call(Diff, 'diff', path),
    log: (limit) => call(z.array(Commit), 'log', limit),
    commit: (message, author) => call(z.string().nullable(), 'commit', message, author),
    async push(options) {
      push = options
      try {
        return await call(z.string().nullable(), 'push')
      } finally {
        push = null
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

/** Whoever does not answer in time is not asked again. */
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

/**
 * Asks a remote of Git for the other end, which only names it: what else it may ask for is nothing. A password is added for
 * the origin that it belongs to, once the remote wants one.
 */
async function askRemote(egress: Egress, request: GitRequest, { credentials }: PushOptions): Promise<GitAnswer> {
  const { origin, pathname, searchParams } = new URL(request.url)
  const isOfPush =
    pathname.endsWith('/git-receive-pack') ||
    (pathname.endsWith('/info/refs') && searchParams.get('service') === 'git-receive-pack')
  if (!isOfPush) throw new AppError('forbidden', 'Only what a push takes is asked of a remote')
  const headers = withoutAuthorization(request.headers)
  const answer = await sendToRemote(egress, { ...request, headers })
  const known = credentials.find((one) => one.origin === origin)
  if (answer.status !== 401 || !known) return answer
  const basic = Buffer.from(`${known.username}:${known.password}`).toString('base64')
  return sendToRemote(egress, { ...request, headers: { ...headers, authorization: `Basic ${basic}` } })
}

function withoutAuthorization(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'))
}
