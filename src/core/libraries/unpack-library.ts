import { readFileSync } from 'node:fs'

const unpacked = new Map<string, Promise<Record<string, unknown>>>()

/**
 * The module whose text the executable carries in `file`, compressed by Zstandard. It is loaded once, however often it is
 * asked for. The build puts calls of this in the place of libraries that are seldom needed.
 */
export function unpackLibrary(file: string): Promise<Record<string, unknown>> {
  let library = unpacked.get(file)
  if (!library) {
    library = load(file)
    unpacked.set(file, library)
  }
  return library
}

async function load(file: string): Promise<Record<string, unknown>> {
  const text = Bun.zstdDecompressSync(readFileSync(file))
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  try {
    return await import(url)
  } finally {
    URL.revokeObjectURL(url)
  }
}
