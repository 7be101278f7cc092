import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BunPlugin } from 'bun'
import { readTarget } from './executable-format.ts'
import { readInputs } from './packages.ts'
import { TARGETS, type Target } from './targets.ts'

const root = join(import.meta.dir, '../..')
/** As much of a file as has all of its headers. */
const HEADERS_BYTES = 65_536

/**
 * Builds the program for `target` into `outfile`, with the dashboard of `webFolder`, whose last part has to be `dist`, and
 * the native code of SQLite inside. The same sources make the same bytes, wherever and whenever they are built.
 * @returns the files that it is made from, by their paths.
 * @throws when the bundler reports an error, or what it wrote does not run on `target` by its headers.
 */
export async function buildExecutable(outfile: string, webFolder: string, target: Target): Promise<string[]> {
  await mkdir(dirname(outfile), { recursive: true })
  // Its name stands in it, so it is always built under the same one.
  const folder = await mkdtemp(join(dirname(outfile), '.build-'))
  try {
    const built = join(folder, 'stead')
    const inputs = await bundle(built, webFolder, target)
    const found = readTarget(await Bun.file(built).slice(0, HEADERS_BYTES).bytes())
    if (found !== target) throw new Error(`The executable is for ${found}, not for ${target}`)
    await rename(built, outfile)
    return inputs
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function bundle(outfile: string, webFolder: string, target: Target): Promise<string[]> {
  const result = await Bun.build({
    // Beside the program, what it starts as workers.
    entrypoints: [
      join(root, 'src/main.ts'),
      join(root, 'src/adapters/pages/worker.ts'),
      join(root, 'src/adapters/git/worker.ts'),
      join(root, 'src/adapters/models/token-worker.ts'),
      join(root, 'src/db/wal/checkpoint-worker.ts'),
    ],
    minify: true,
    // What the program and its workers share stands in the executable once, and is loaded when it is needed.
    splitting: true,
    // Parsed here and not at each start, which takes half the processor time of one: a health check is a start as well.
    bytecode: true,
    format: 'esm',
    // A map of the sources would be a twelfth of the executable.
    sourcemap: 'none',
    metafile: true,
    define: {
      'process.env.NODE_ENV': '"production"',
      // The folder of this checkout would stand in the executable, where there is no such folder.
      __dirname: '"/"',
      __filename: '"/stead"',
    },
    plugins: [embedSqlite(TARGETS[target].sqlite)],
    // ssh2 does without the first; its native code is compiled on install, which we do not run. mppx would load the second
    // for payments inside of MCP, which we do not take.
    external: ['cpu-features', '@modelcontextprotocol/sdk'],
    compile: {
      target: TARGETS[target].bun,
      outfile,
      assets: [webFolder],
      // Settings come from the environment alone: a `.env` or `bunfig.toml` in an agent's workspace must not be read.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  if (!result.success) throw new AggregateError(result.logs, 'The executable does not build')
  return readInputs(result)
}

/** The entry of better-sqlite3 that names its native code literally, so that the bundler finds and embeds it. */
function embedSqlite(platform: string): BunPlugin {
  const entry = Bun.resolveSync(`better-sqlite3/${platform}`, root)
  return {
    name: 'embed-sqlite',
    setup(builder) {
      builder.onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: entry }))
    },
  }
}
