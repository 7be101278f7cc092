/** More than this of a text is left out: no model reads it at once. */
const MAX_CHARACTERS = 1_000_000

/** For the process that `readPdf` starts: a PDF from standard input becomes text on standard output. */
export async function extractPdf(): Promise<void> {
  const { extractText, getDocumentProxy } = await import('unpdf')
  const document = await getDocumentProxy(await Bun.stdin.bytes(), { verbosity: 0 })
  const { text } = await extractText(document, { mergePages: false })
  const pages = text.map((page, index) => `--- Page ${index + 1} ---\n${page}`)
  await Bun.write(Bun.stdout, pages.join('\n\n').slice(0, MAX_CHARACTERS))
}
