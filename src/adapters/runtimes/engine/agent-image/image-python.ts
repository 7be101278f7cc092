import { existsSync } from 'node:fs'
import { readdir, readFile, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { AppError } from '../../../../core/errors.ts'
import { type ImageFile, listLibraries, run, toFile } from './machine-files.ts'

/** That of the distribution: what it is linked against is where every loader looks. */
export const PYTHON = '/usr/bin/python3'
/** Of the standard library: what needs a screen, tests, what installs, and what is other packages'. */
const LEFT_OUT =
  /^(__pycache__|test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|config-.*|(site|dist)-packages)$/

/**
 * This machine's Python with its standard library, and nothing of what else was installed for it.
 * @throws AppError `invalid` where there is none.
 */
export async function collectPython(): Promise<ImageFile[]> {
  if (!existsSync(PYTHON)) throw new AppError('invalid', `--python packs ${PYTHON}, and there is none here`)
  const program = await realpath(PYTHON)
  const library = (await run(PYTHON, '-I', '-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))')).trim()
  const modules = await listModules(library)
  const libraries = await listLibraries(
    program,
    modules.filter((path) => path.endsWith('.so')),
  )
  return [
    { name: program, content: await readFile(program), mode: 0o755 },
    ...(program === PYTHON ? [] : [{ name: PYTHON, linkname: basename(program) }]),
    ...(await Promise.all([...libraries, ...modules].map(toFile))),
  ]
}

async function listModules(folder: string): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !LEFT_OUT.test(name))
  const found = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return listModules(path)
      // A link may lead to a package that is not installed.
      return existsSync(path) ? [path] : []
    }),
  )
  return found.flat()
}
