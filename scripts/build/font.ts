import { join } from 'node:path'
import font from '@fontsource-variable/source-sans-3/package.json'

/**
 * The font of the dashboard, with its version in the URL, because browsers cache it. It is external to the bundler,
 * which would embed it in the style sheet, where the content security policy forbids it.
 */
export const FONT = {
  from: Bun.resolveSync(
    '@fontsource-variable/source-sans-3/files/source-sans-3-latin-wght-normal.woff2',
    import.meta.dir,
  ),
  to: `assets/source-sans-3-${font.version}.woff2`,
}

/**
 * Adds the font to a build and preloads it on every page. @throws Error when a style sheet names another version of it.
 */
export async function addFont(outdir: string): Promise<void> {
  await Bun.write(join(outdir, FONT.to), Bun.file(FONT.from))
  const preload = `<link rel="preload" href="/${FONT.to}" as="font" type="font/woff2" crossorigin />`
  for (const path of new Bun.Glob('**/*.{html,css}').scanSync(outdir)) {
    const file = Bun.file(join(outdir, path))
    const text = await file.text()
    if (path.endsWith('.html')) await file.write(text.replace('</head>', `${preload}</head>`))
    else if (!text.includes(`/${FONT.to}`)) throw new Error(`${path} does not name /${FONT.to}`)
  }
}
