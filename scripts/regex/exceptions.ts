/** A pattern that may take more than linear time, the files that use it, and the bound that makes it harmless there. */
export type Exception = { pattern: string; files: readonly string[]; bound: string }

export const EXCEPTIONS: readonly Exception[] = [
  {
    pattern: String.raw`/\/[\w./-]*\/ld-(?:linux|musl)[\w.-]+/`,
    files: ['src/adapters/runtimes/engine/build-image.ts'],
    bound: 'Searches the first 4096 bytes of an executable that the operator names.',
  },
]
