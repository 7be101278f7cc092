/** `scripts/build.ts` embeds the folder `web/dist`, whose files Bun names from its last part. */
const DASHBOARD_FOLDER = 'dist/'

/** Returns the dashboard files in the executable by URL path, each with its media type; null outside the executable. */
export function embeddedDashboard(): Map<string, Blob> | null {
  if (!Bun.isStandaloneExecutable) return null
  const files = new Map<string, Blob>()
  for (const file of Bun.embeddedFiles) {
    const name = 'name' in file && typeof file.name === 'string' ? file.name : ''
    if (name.startsWith(DASHBOARD_FOLDER)) files.set(`/${name.slice(DASHBOARD_FOLDER.length)}`, file)
  }
  return files
}
