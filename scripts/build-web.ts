import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import tailwind from 'bun-plugin-tailwind'

const root = join(import.meta.dir, '..')

/**
 * Bundles the dashboard into `outdir`, which it empties first: `index.html` and assets with the content's hash in their names.
 * @throws when the bundler reports an error.
 */
export async function buildWeb(outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true })
  const result = await Bun.build({
    entrypoints: [join(root, 'web/index.html')],
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
