import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import tailwind from 'bun-plugin-tailwind'
import { renderDocuments } from './docs.ts'

const root = join(import.meta.dir, '..')

/** The documents, in the repository as on the web. */
const DOCUMENTS = join(root, 'web/docs')

/**
 * Bundles the dashboard into `outdir`, which it empties first: `index.html`, the documents as `docs/<chapter>.html`, and
 * assets with the content's hash in their names.
 * @throws when the bundler reports an error or a document leads nowhere.
 */
export async function buildWeb(outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true })
  const result = await Bun.build({
    entrypoints: [join(root, 'web/index.html'), join(DOCUMENTS, 'page.html')],
    outdir,
    publicPath: '/',
    plugins: [tailwind],
    minify: true,
    splitting: true,
    target: 'browser',
    env: 'disable',
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name].[ext]', chunk: 'assets/[name]-[hash].[ext]', asset: 'assets/[name]-[hash].[ext]' },
  })
  if (!result.success) throw new AggregateError(result.logs, 'The dashboard does not build')
  await writeDocuments(outdir)
}

/** Turns `page.html`, as the bundler has left it, into a page for each chapter. */
async function writeDocuments(outdir: string): Promise<void> {
  const template = Bun.file(join(outdir, 'page.html'))
  // The bundler gives every page a script, and these have none.
  const frame = (await template.text()).replace(/<script[^>]*><\/script>/g, '')
  const pages = renderDocuments(await readDocuments(), frame)
  await template.delete()
  await mkdir(join(outdir, 'docs'))
  for (const [name, page] of pages) await Bun.write(join(outdir, 'docs', `${name}.html`), page)
}

/** The chapters in CommonMark by their names without `.md`. */
export async function readDocuments(): Promise<Map<string, string>> {
  const files = [...new Bun.Glob('*.md').scanSync(DOCUMENTS)].sort()
  const texts = files.map(async (file) => [file.slice(0, -3), await Bun.file(join(DOCUMENTS, file)).text()] as const)
  return new Map(await Promise.all(texts))
}

/** Prints the size of each built file, as it is and as it travels. */
async function reportSizes(outdir: string): Promise<void> {
  let total = 0
  for (const path of [...new Bun.Glob('**/*').scanSync(outdir)].sort()) {
    const bytes = await Bun.file(join(outdir, path)).bytes()
    const zipped = Bun.gzipSync(bytes).byteLength
    total += zipped
    console.log(`${path.padEnd(40)} ${kilobytes(bytes.byteLength)}  ${kilobytes(zipped)} gzip`)
  }
  console.log(`${'total'.padEnd(53)} ${kilobytes(total)} gzip`)
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
}
