/** Returns the file name of the C library that this program is linked to. */
export function findLibc(): string {
  const isGlibc = JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime')
  if (isGlibc) return 'libc.so.6'
  return process.arch === 'arm64' ? 'libc.musl-aarch64.so.1' : 'libc.musl-x86_64.so.1'
}
