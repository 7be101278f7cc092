/** `bun run gallery`: every part of the dashboard on one page, served on the loopback until it is ended. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tailwind from 'bun-plugin-tailwind'
import { addFont, FONT } from './font.ts'
import { zodNoEval } from './zod-no-eval.ts'

const PAGE = join(import.meta.dir, '../../web/gallery/index.html')

/** Builds the gallery and serves it on a free port. @throws when the bundler reports an error. */
export async function serveGallery(): Promise<Disposable & { url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'stead-gallery-'))
  const built = await Bun.build({
    entrypoints: [PAGE],
    outdir: folder,
    publicPath: '/',
    plugins: [tailwind, zodNoEval],
    target: 'browser',
    external: [`/${FONT.to}`],
    env: 'disable',
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  if (!built.success) throw new AggregateError(built.logs, 'The gallery does not build')
  await addFont(folder)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const file = Bun.file(join(folder, pathname === '/' ? 'index.html' : pathname))
      return (await file.exists()) ? new Response(file) : new Response('Not found', { status: 404 })
    },
  })
  return {
    url: server.url.origin,
    [Symbol.dispose]() {
      void server.stop(true)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

if (import.meta.main) console.log(`The parts are at ${(await serveGallery()).url}`)
