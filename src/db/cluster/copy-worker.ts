import Database from 'better-sqlite3'

/** Copies a database in use to another file, as of one moment. */
export type CopyRequest = { file: string; to: string }
export type CopyReply = { error: string | null }

declare const self: Worker

const ALL_PAGES = 0x7fffffff

self.onmessage = async ({ data }: MessageEvent<CopyRequest>) => {
  self.postMessage(await copy(data))
}

/** Page by page, because VACUUM would number rows without an integer key anew. */
async function copy({ file, to }: CopyRequest): Promise<CopyReply> {
  let sqlite: Database.Database | undefined
  try {
    sqlite = new Database(file, { readonly: true, fileMustExist: true })
    // All pages in one step, so that no write of another connection starts the copy anew.
    await sqlite.backup(to, { progress: () => ALL_PAGES })
    return { error: null }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  } finally {
    sqlite?.close()
  }
}
