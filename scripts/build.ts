/**
 * `bun run build`: `dist/stead` for this machine, one executable that needs nothing beside it.
 * `bun run build --target linux-arm64 [--target …]`, or `--target all`: what is published, `dist/stead-<target>` with
 * `SHA256SUMS`, a bill of materials and `install.sh`, which downloads from `--download-url` (or `STEAD_DOWNLOAD_URL`).
 * `--outdir` takes another folder in both cases, `--outfile` another name.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildExecutable } from './build/executable.ts'
import { buildRelease } from './build/release.ts'
import { ownTarget, RELEASED, toTarget } from './build/targets.ts'
import { buildWeb } from './build-web.ts'

const root = join(import.meta.dir, '..')

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    outfile: { type: 'string' },
    outdir: { type: 'string' },
    'download-url': { type: 'string' },
  },
})
if (values.outfile !== undefined && (values.outdir !== undefined || values.target !== undefined))
  throw new Error('--outfile names one executable for this machine: leave --outdir and --target out')
const outdir = resolve(values.outdir ?? join(root, 'dist'))
const outfile = values.outfile === undefined ? join(outdir, 'stead') : resolve(values.outfile)
const downloadUrl = values['download-url'] ?? process.env.STEAD_DOWNLOAD_URL ?? null
// Tailwind searches for class names from the current folder on, so the result would depend on it.
process.chdir(root)
// Tests set it to `test`, and the bundler would read that.
delete process.env.NODE_ENV
let startedAt = performance.now()
if (values.target === undefined) await buildForHere()
else {
  const targets = values.target.flatMap((name) => (name === 'all' ? RELEASED : [toTarget(name)]))
  await buildRelease({ folder: outdir, targets: [...new Set(targets)], downloadUrl }, report)
}
// Exit explicitly: the app that lists the routes holds timers.
process.exit(0)

/** A build for another target leaves `web/dist` as it is, because a service in this checkout may serve it. */
async function buildForHere(): Promise<void> {
  const isOwn = outfile === join(root, 'dist/stead')
  const folder = isOwn ? join(root, 'web') : await mkdtemp(join(tmpdir(), 'stead-build-'))
  try {
    await buildWeb(join(folder, 'dist'))
    await buildExecutable(outfile, join(folder, 'dist'), ownTarget())
    await report(outfile)
  } finally {
    if (!isOwn) await rm(folder, { recursive: true, force: true })
  }
}

async function report(file: string): Promise<void> {
  const { size } = await stat(file)
  console.log(`${file} ${(size / 1_000_000).toFixed(1)} MB in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  startedAt = performance.now()
}
