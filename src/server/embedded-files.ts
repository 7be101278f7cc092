/** `scripts/build.ts` embeds the folder `web/dist`, whose files Bun names from its last part. */
const DASHBOARD_FOLDER = 'dist/'

/**
 * Files of the dashboard by URL path (`/index.html`, `/assets/…`) as the executable carries them; each has its media type.
 * Null outside the executable, where `web/dist` is read instead.
 */
export function embeddedDashboard(): Map<string, Blob> | null {
  if (!Bun.isStandaloneExecutable) return null
  const files = new Map<string, Blob>()
  for (const file of Bun.embeddedFiles) {
    const name = 'name' in file && typeof file.name === 'string' ? file.name : ''
    if (name.startsWith(DASHBOARD_FOLDER)) files.set(`/${name.slice(DASHBOARD_FOLDER.length)}`, file)
  }
  return files
}
