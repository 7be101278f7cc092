import { timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chown, lchown, readdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { sha256 } from '../../../core/secrets.ts'
import { packFolder, unpackFolder } from '../process/snapshot.ts'

/** The port of the state server in its container. */
export const STATE_PORT = 18_790
/** Variables of the state server: the hash of its bearer token, and `uid:gid` of the files. */
export const STATE_TOKEN_HASH = 'STATE_TOKEN_SHA256'
export const STATE_OWNER = 'STATE_OWNER'

/** The state server ends when the platform has forgotten it. */
const MAX_LIFE_MS = 3_600_000

type StateServerOptions = { folder: string; tokenHash: string; owner: string; port?: number }

/**
 * Serves an agent's volume to the platform on another machine: `GET /` sends its content as a gzipped tar, `PUT /` fills
 * it, `GET /ready` answers 204.
 * @returns the port.
 */
export async function serveState({ folder, tokenHash, owner, port = STATE_PORT }: StateServerOptions): Promise<number> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      process.stderr.write(`${error.message}\n`)
      // The caller must not take a part for the whole.
      if (response.headersSent) response.destroy(error)
      else response.writeHead(500).end(error.message)
    })
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isAllowed(request.headers.authorization, tokenHash)) return void response.writeHead(401).end()
    const route = `${request.method} ${request.url}`
    if (route === 'GET /ready') return void response.writeHead(204).end()
    if (route === 'GET /') return packFolder(folder, response)
    if (route !== 'PUT /') return void response.writeHead(404).end()
    await unpackFolder(request, folder, folder)
    await giveTo(folder, owner)
    response.writeHead(204).end()
  }
  server.requestTimeout = 0
  setTimeout(() => process.exit(1), MAX_LIFE_MS).unref()
  await new Promise<void>((resolve) => server.listen(port, resolve))
  const address = server.address()
  return typeof address === 'object' && address ? address.port : port
}

/** Reads a gzipped tar to its end. @throws Error for one that was cut off. */
export async function requireWholeArchive(file: string): Promise<void> {
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() })
  await pipeline(createReadStream(file), createGunzip(), nothing)
}

function isAllowed(header: string | undefined, tokenHash: string): boolean {
  const given = Buffer.from(sha256(header?.replace(/^Bearer /, '') ?? ''))
  const expected = Buffer.from(tokenHash)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

async function giveTo(folder: string, owner: string): Promise<void> {
  const [uid = 0, gid = 0] = owner.split(':').map(Number)
  await chown(folder, uid, gid)
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
    await lchown(join(entry.parentPath, entry.name), uid, gid)
}
