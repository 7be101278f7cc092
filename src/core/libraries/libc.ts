/** The C library that this program itself was linked to, by the name under which its loader finds it. */
export function findLibc(): string {
  const isGlibc = JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime')
  if (isGlibc) return 'libc.so.6'
  return process.arch === 'arm64' ? 'libc.musl-aarch64.so.1' : 'libc.musl-x86_64.so.1'
}
