/**
 * `bun run agent:image [--tag NAME] [--executable FILE] [--shell] [--python]`: builds the image `AGENT_IMAGE` from this
 * checkout without a registry: an executable (FILE, or a new build), the libraries it needs and an unprivileged user.
 * `--shell` adds a static busybox of this machine, `--python` its Python, for agents that may run commands. Nothing is
 * built when nothing has changed.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  collectImageFiles,
  digestPacks,
  type ImageFile,
  makeAgentImage,
} from '../src/adapters/runtimes/engine/build-image.ts'
import { createEngine } from '../src/adapters/runtimes/engine/engine.ts'
import { VERSION } from '../src/core/version.ts'

const root = join(import.meta.dir, '..')
const SOURCES = '{src/**/*,web/**/*,migrations/**/*,scripts/build*.ts,scripts/build/*.ts,scripts/documents/docs.ts}'
const MANIFESTS = ['package.json', 'bun.lock']

const { values } = parseArgs({
  options: {
    tag: { type: 'string' },
    executable: { type: 'string' },
    shell: { type: 'boolean', default: false },
    python: { type: 'boolean', default: false },
  },
})
const packs = { shell: values.shell, python: values.python }
const reference = values.tag ?? (process.env.AGENT_IMAGE || `stead-agent:${VERSION}`)
const engine = createEngine(process.env.DOCKER_HOST ?? '/var/run/docker.sock')
const startedAt = performance.now()

const sizeBytes = await makeAgentImage(engine, reference, { digest: await digestSources(), packs, collect })
if (sizeBytes === null) console.log(`${reference} is up to date.`)
else console.log(`${reference} ${(sizeBytes / 1_000_000).toFixed(1)} MB in ${seconds()} s`)
process.exit(0)

/** Hashes the sources of the image, so that equal sources give the same tag. */
async function digestSources(): Promise<string> {
  const hash = createHash('sha256')
    .update(process.arch)
    .update(Bun.version)
    .update(await digestPacks(packs))
  const paths = [...new Bun.Glob(SOURCES).scanSync(root)].filter((path) => !/^web\/dist\/|\.test\.tsx?$/.test(path))
  for (const path of [...paths.sort(), ...MANIFESTS]) hash.update(path).update(await readFile(join(root, path)))
  return hash.digest('hex')
}

async function collect(): Promise<ImageFile[]> {
  if (values.executable !== undefined) return collectImageFiles(values.executable, packs)
  const folder = await mkdtemp(join(tmpdir(), 'stead-image-'))
  try {
    const executable = join(folder, 'stead')
    const build = Bun.spawn([process.execPath, join(root, 'scripts/build.ts'), '--outfile', executable], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if ((await build.exited) !== 0) throw new Error('The executable does not build')
    return await collectImageFiles(executable, packs)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function seconds(): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1)
}
