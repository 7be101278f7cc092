import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { type Context, Hono } from 'hono'
import { hasTooManyCookies } from '../adapters/gateways/proxy.ts'
import { trimAround } from '../core/text/trim.ts'
import type { WebEnv } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { embeddedDashboard } from './embedded-files.ts'
import { isPage } from './pages.ts'

/** Files of the built dashboard by URL path; empty when it was not built. */
export type Dashboard = ReadonlyMap<string, Blob>

/** A file and its compressed forms, best first. */
type Served = { bytes: Bytes; compressed: readonly { name: 'br' | 'gzip'; bytes: Bytes }[]; type: string }
type Bytes = Uint8Array<ArrayBuffer>

const BUILD_FOLDER = join(import.meta.dir, '..', '..', 'web', 'dist')

/** `/docs` lists the chapters, `/docs/<chapter>` is one. */
const DOCUMENTS = '/docs'

/** Browsers send about 20 characters; a longer header gets an uncompressed response. */
const MAX_ENCODINGS_LENGTH = 1000

/**
 * Suffix of Brotli files, which the build writes next to each file; the executable contains only these. Not served
 * under this name.
 */
const COMPRESSED = '.br'

/** All content comes from the same origin. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Opens the dashboard from the executable, or from `web/dist` in a checkout. */
export function openDashboard(): Dashboard {
  return embeddedDashboard() ?? readBuild(BUILD_FOLDER)
}

/**
 * Serves the files, the documents, and the single-page app for every page of the dashboard. Unknown addresses get 404:
 * the app for browsers, JSON for other clients.
 */
export function dashboardWeb(files: Dashboard) {
  const app = new Hono<WebEnv>()
  const prepared = new Map<string, Promise<Served>>()

  app.get('*', async (c) => {
    const wanted = c.req.path.replace(/^\/web/, '')
    const isAsset = wanted.startsWith('/assets/')
    const { path, isKnown } = findFile(files, wanted)
    if (!isKnown && (isAsset || !wantsPage(c, wanted))) return notFound(c)
    if (!hasFile(files, path)) return c.text('The dashboard is not built. Run `bun run build:web`.', 503)

    const served = await getOrInsert(prepared, path, () => prepare(files, path))
    // An agent's page can fill the browser with cookies for this domain too.
    if (hasTooManyCookies(c.req.raw.headers)) c.header('clear-site-data', '"cookies"')
    const accepted = listEncodings(c.req.header('accept-encoding'))
    const packed = served.compressed.find(({ name }) => accepted.has(name))
    // Asset names contain a hash of their content.
    c.header('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache')
    c.header('content-security-policy', CONTENT_SECURITY_POLICY)
    c.header('cross-origin-opener-policy', 'same-origin')
    c.header('content-type', served.type)
    c.header('vary', 'accept-encoding')
    if (packed) c.header('content-encoding', packed.name)
    return c.body((packed ?? served).bytes, isKnown ? 200 : 404)
  })
  return app
}

/** Returns the file for an address, or the page that reports it as not found. */
function findFile(files: Dashboard, wanted: string): { path: string; isKnown: boolean } {
  if (hasFile(files, wanted) && !wanted.endsWith(COMPRESSED)) return { path: wanted, isKnown: true }
  if (wanted !== DOCUMENTS && !wanted.startsWith(`${DOCUMENTS}/`))
    return { path: '/index.html', isKnown: isPage(wanted) }
  const chapter = trimAround(wanted.slice(DOCUMENTS.length), '/')
  const path = `/docs/${chapter || 'index'}.html`
  return hasFile(files, path) ? { path, isKnown: true } : { path: '/docs/missing.html', isKnown: false }
}

/** Returns whether the client wants an HTML page: paths with an extension and `/metrics` are not pages. */
function wantsPage(c: Context, path: string): boolean {
  const isFile = path.includes('.', path.lastIndexOf('/') + 1) || path === '/metrics'
  return !isFile && c.req.header('accept')?.includes('text/html') === true
}

/** Returns the accepted encodings, without those refused by `q=0`. */
function listEncodings(header = ''): Set<string> {
  if (header.length > MAX_ENCODINGS_LENGTH) return new Set()
  const parts = header.split(',').map((part) => part.split(';').map((word) => word.trim().toLowerCase()))
  return new Set(parts.flatMap(([name = '', quality = '']) => (/^q=0(\.0*)?$/.test(quality) ? [] : [name])))
}

function hasFile(files: Dashboard, path: string): boolean {
  return files.has(path) || files.has(path + COMPRESSED)
}

/** Reads a file and compresses it with gzip, once per file. */
async function prepare(files: Dashboard, path: string): Promise<Served> {
  const brotli = await files.get(path + COMPRESSED)?.bytes()
  const bytes = (await files.get(path)?.bytes()) ?? new Uint8Array(await promisify(brotliDecompress)(brotli ?? ''))
  const best = brotli ? [{ name: 'br' as const, bytes: brotli }] : []
  // Bun derives the type from the name.
  const { type } = Bun.file(path)
  // Font formats are already compressed.
  if (type.startsWith('font/')) return { bytes, compressed: [], type }
  return { bytes, compressed: [...best, { name: 'gzip', bytes: Bun.gzipSync(bytes) }], type }
}

function getOrInsert<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

function readBuild(folder: string): Dashboard {
  const files = new Map<string, Blob>()
  for (const name of listFiles(folder)) files.set(`/${name}`, Bun.file(join(folder, name)))
  return files
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  } catch {
    return []
  }
}
