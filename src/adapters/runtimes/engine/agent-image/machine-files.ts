import { existsSync } from 'node:fs'
import { open, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../../../core/errors.ts'

/** Loaded by name at run time by older C libraries, so that no list of needed libraries has them. */
const RESOLVERS = ['libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2']
/** The loader that an executable of Linux names near its beginning; that of musl is its C library as well. */
const LOADER = /\/[\w./-]*\/ld-(?:linux|musl)[\w.-]+/
const HEAD_BYTES = 4096

/** One entry of the image, under its path in there. */
export type ImageFile = { name: string; mode?: number } & ({ content: string | Buffer } | { linkname: string })

/**
 * The libraries of this machine that `executable` and what it loads by itself are linked against, by the paths under which
 * they are looked for; the loader tells them, on machines without `ldd` as well.
 * @throws AppError `invalid` for what is no executable of Linux.
 */
export async function listLibraries(executable: string, loaded: readonly string[] = []): Promise<string[]> {
  const loader = await readLoader(executable)
  const outputs = await Promise.all([executable, ...loaded].map((file) => run(loader, '--list', file)))
  const needed = outputs.join('\n').split('\n').flatMap(readLibrary)
  const folders = [...new Set(needed.map((path) => dirname(path)))]
  const resolvers = RESOLVERS.flatMap((name) => folders.map((folder) => join(folder, name)).find(existsSync) ?? [])
  return [...new Set([loader, ...needed, ...resolvers])]
}

/** Reads one line of the loader's list: `libc.so.6 => /lib/libc.so.6 (0x7f…)`, or without the name where both are the same. */
function readLibrary(line: string): string[] {
  const found = line.trim().split(' => ').at(-1) ?? ''
  const end = found.indexOf(' (0x')
  return found.startsWith('/') && end !== -1 ? [found.slice(0, end)] : []
}

async function readLoader(executable: string): Promise<string> {
  const file = await open(executable)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const [loader] = LOADER.exec(buffer.toString('latin1', 0, bytesRead)) ?? []
    if (loader === undefined || !existsSync(loader))
      throw new AppError('invalid', `${executable} does not run on this machine: agents in containers run on Linux`)
    return loader
  } finally {
    await file.close()
  }
}

/** A file of this machine under its own path, behind whatever links. */
export async function toFile(path: string): Promise<ImageFile> {
  return { name: path, content: await readFile(await realpath(path)), mode: path.includes('.so') ? 0o755 : 0o644 }
}

/** What a program writes. @throws Error when it fails. */
export async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const output = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
  return output
}
