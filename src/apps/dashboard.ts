import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Hono } from 'hono'
import { hasTooManyCookies } from '../adapters/proxy-headers.ts'
import type { WebEnv } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { embeddedDashboard } from './embedded-files.ts'

/** Files of the built dashboard by URL path; empty when it was not built. */
export type Dashboard = ReadonlyMap<string, Blob>

type Served = { bytes: Uint8Array<ArrayBuffer>; gzipped: Uint8Array<ArrayBuffer>; type: string }

const BUILD_FOLDER = join(import.meta.dir, '..', '..', 'web', 'dist')

/** Everything comes from our own files. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** From the executable, or from `web/dist` in a checkout. */
export function openDashboard(): Dashboard {
  return embeddedDashboard() ?? readBuild(BUILD_FOLDER)
}

/** Serves the files; every other path is a page of the dashboard, which finds its own way. */
export function dashboardWeb(files: Dashboard) {
  const app = new Hono<WebEnv>()
  const prepared = new Map<string, Promise<Served>>()

  app.get('*', async (c) => {
    const wanted = c.req.path.replace(/^\/web/, '')
    const isAsset = wanted.startsWith('/assets/')
    const path = files.has(wanted) || isAsset ? wanted : '/index.html'
    const file = files.get(path)
    if (!file)
      return files.size === 0 ? c.text('The dashboard is not built. Run `bun run build:web`.', 503) : notFound(c)

    const served = await getOrInsert(prepared, path, () => prepare(file))
    // A page of an agent can fill the browser with cookies for our domain too.
    if (hasTooManyCookies(c.req.raw.headers)) c.header('clear-site-data', '"cookies"')
    const isZipped = c.req.header('accept-encoding')?.includes('gzip') ?? false
    // Names of assets hold the hash of their content.
    c.header('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache')
    c.header('content-security-policy', CONTENT_SECURITY_POLICY)
    c.header('cross-origin-opener-policy', 'same-origin')
    c.header('content-type', served.type)
    c.header('vary', 'accept-encoding')
    if (isZipped) c.header('content-encoding', 'gzip')
    return c.body(isZipped ? served.gzipped : served.bytes)
  })
  return app
}

/** Read and compressed once, with the first request for it. */
async function prepare(file: Blob): Promise<Served> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return { bytes, gzipped: Bun.gzipSync(bytes), type: file.type }
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
