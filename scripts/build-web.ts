import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import tailwind from 'bun-plugin-tailwind'
import { readConfig } from '../src/core/config.ts'
import { writeApiDocument } from '../src/server/api-document/document.ts'
import { listRoutes } from '../src/server/api-document/routes.ts'
import { createEmptyApp } from '../src/server/empty-app.ts'
import { addFont, FONT } from './build/font.ts'
import { readInputs } from './build/packages.ts'
import { zodNoEval } from './build/zod-no-eval.ts'
import { writeApiChapter, writeLlmsText } from './documents/api-chapter.ts'
import { listSearchEntries, renderDocuments } from './documents/docs.ts'

const root = join(import.meta.dir, '..')

/** The documents, in the repository as on the web. */
const DOCUMENTS = join(root, 'web/docs')

/**
 * Bundles the dashboard into `outdir`, which it empties first: `index.html`, the documents as `docs/<chapter>.html`,
 * and assets with the hash of their content in their names. Each file has a copy compressed by Brotli, `.br`.
 * @returns the paths of the source files. @throws Error when the bundler reports an error or a link in a document has
 * no target.
 */
export async function buildWeb(outdir: string): Promise<string[]> {
  await rm(outdir, { recursive: true, force: true })
  const result = await Bun.build({
    entrypoints: [join(root, 'web/index.html'), join(DOCUMENTS, 'page.html')],
    outdir,
    publicPath: '/',
    plugins: [tailwind, zodNoEval],
    minify: true,
    splitting: true,
    metafile: true,
    target: 'browser',
    external: [`/${FONT.to}`],
    env: 'disable',
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name].[ext]', chunk: 'assets/[name]-[hash].[ext]', asset: 'assets/[name]-[hash].[ext]' },
  })
  if (!result.success) throw new AggregateError(result.logs, 'The dashboard does not build')
  await addFont(outdir)
  await writeDocuments(outdir)
  await sharpenBreakpoints(outdir)
  await compressFiles(outdir)
  return [...readInputs(result), FONT.from]
}

/**
 * The bundler writes `width < 48rem` as `max-width: calc(48rem - .001px)`, which browsers round up to 48rem, because
 * they count in 64ths of a pixel. Both layouts would apply in a window of exactly that width, such as a tablet.
 */
async function sharpenBreakpoints(outdir: string): Promise<void> {
  for (const path of new Bun.Glob('assets/*.css').scanSync(outdir)) {
    const file = Bun.file(join(outdir, path))
    await Bun.write(file, (await file.text()).replaceAll(/(max-width:\s*calc\([\d.]+rem - )\.001px/g, '$1.02px'))
  }
}

/** Compressed in the build, because Brotli is slow at its best level. */
async function compressFiles(outdir: string): Promise<void> {
  const paths = [...new Bun.Glob('**/*.{html,js,css,svg,json}').scanSync(outdir)].map((path) => join(outdir, path))
  await Promise.all(
    paths.map(async (path) => Bun.write(`${path}.br`, await promisify(brotliCompress)(await Bun.file(path).bytes()))),
  )
}

/** Turns the bundled `page.html` into one page per document, and writes the search index and the pictures next to them. */
async function writeDocuments(outdir: string): Promise<void> {
  const template = Bun.file(join(outdir, 'page.html'))
  const chapters = await readDocuments()
  const pages = renderDocuments(chapters, await template.text())
  await template.delete()
  for (const [name, page] of pages) await Bun.write(join(outdir, 'docs', `${name}.html`), page)
  await Bun.write(join(outdir, 'docs/search.json'), JSON.stringify(listSearchEntries(chapters)))
  for (const path of new Bun.Glob('images/*').scanSync(DOCUMENTS))
    await Bun.write(join(outdir, 'docs', path), Bun.file(join(DOCUMENTS, path)))
  const titles = [...chapters].map(([name, text]) => ({ name, title: /^# (.+)$/m.exec(text)?.[1] ?? name }))
  await Bun.write(join(outdir, 'llms.txt'), writeLlmsText(titles.filter(({ name }) => pages.has(name))))
}

/** Reads the documents in CommonMark by path without `.md`, and adds the API reference, which is made from the routes. */
export async function readDocuments(): Promise<Map<string, string>> {
  const files = [...new Bun.Glob('**/*.md').scanSync(DOCUMENTS)].sort()
  const texts = files.map(async (file) => [file.slice(0, -3), await Bun.file(join(DOCUMENTS, file)).text()] as const)
  return new Map([...(await Promise.all(texts)), ['api', await writeReference()]])
}

async function writeReference(): Promise<string> {
  const routes = listRoutes(createEmptyApp(readConfig({})).routes)
  const documents = (['web', 'backend', 'summarizer'] as const).map(
    async (port) => [port, await writeApiDocument(routes, port)] as const,
  )
  return writeApiChapter(new Map(await Promise.all(documents)))
}

/** Prints the size of each built file, uncompressed and compressed. */
async function reportSizes(outdir: string): Promise<void> {
  let total = 0
  for (const path of [...new Bun.Glob('**/*.br').scanSync(outdir)].sort()) {
    const { size } = Bun.file(join(outdir, path))
    const whole = Bun.file(join(outdir, path.slice(0, -3))).size
    total += size
    console.log(`${path.slice(0, -3).padEnd(40)} ${kilobytes(whole)}  ${kilobytes(size)} compressed`)
  }
  console.log(`${'total'.padEnd(53)} ${kilobytes(total)} compressed`)
}

function kilobytes(sizeBytes: number): string {
  return `${(sizeBytes / 1000).toFixed(1)} kB`.padStart(10)
}

if (import.meta.main) {
  const outdir = join(root, 'web/dist')
  const started = performance.now()
  await buildWeb(outdir)
  await reportSizes(outdir)
  console.log(`built in ${((performance.now() - started) / 1000).toFixed(2)} s`)
  // Exit explicitly: listing the routes opened timers.
  process.exit(0)
}
